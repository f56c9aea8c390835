import Envelope
import Foundation
import PushProtocol
import Store
import Testing
import Wire

@testable import PostgreSQLStore

/// A PostgreSQL database of one simulated cluster, whose clock and partitions the simulation sets.
///
/// PostgreSQL finds a function by the search path, so the functions of this database replace those that the stores' statements
/// name: `now()` is the simulated time, and `pg_current_xact_id()`, which begins each writing transaction, fails for a partitioned server.
/// The simulation writes before a server has created the tables, so it has a table of its own.
struct ClusterDatabase: Sendable {
    private let socket: String
    private let name: String
    private let pool: ConnectionPool

    /// Creates a database on the server whose socket is in the folder `TEST_POSTGRESQL`.
    init() async throws {
        socket = try #require(ProcessInfo.processInfo.environment["TEST_POSTGRESQL"])
        name = "simulation-\(UUID().uuidString)"
        try Self.run("CREATE DATABASE \"\(name)\"", at: socket)
        var parameters = Self.parameters(socket, name, of: "simulation")
        parameters["options"] = "-c search_path=simulation,public,pg_catalog"
        pool = ConnectionPool(parameters, connectionCount: 1)
        try await pool.perform(.writing) { database in
            for statement in Self.definitions.split(separator: "\n\n") { database.add(String(statement)) }
        }
    }

    /// The connection parameters of a server.
    func parameters(of server: String) -> [String: String] { Self.parameters(socket, name, of: server) }

    private static func parameters(_ socket: String, _ name: String, of server: String) -> [String: String] {
        [
            "host": socket, "user": "postgres", "dbname": name, "application_name": server,
            "options": "-c search_path=public,pg_catalog",
        ]
    }

    private static let definitions = """
        CREATE TABLE simulated_clock (milliseconds int8 NOT NULL)

        INSERT INTO simulated_clock VALUES (0)

        CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE AS
            'SELECT timestamptz ''epoch'' + milliseconds * interval ''1 ms'' FROM simulated_clock'

        CREATE SEQUENCE transaction

        CREATE SCHEMA simulation

        CREATE TABLE simulation.last_write (
            writer int8 PRIMARY KEY, sequence int8 NOT NULL, written_at timestamptz NOT NULL DEFAULT now())

        CREATE TABLE public.partition (server text PRIMARY KEY, first_failure int8 NOT NULL)

        CREATE FUNCTION public.pg_current_xact_id() RETURNS xid8 LANGUAGE plpgsql AS '
            BEGIN
                IF nextval(''transaction'') >=
                    (SELECT first_failure FROM partition WHERE server = current_setting(''application_name''))
                THEN
                    RAISE ''partitioned'';
                END IF;
                RETURN pg_catalog.pg_current_xact_id();
            END'
        """

    private static func run(_ sql: String, at socket: String) throws {
        _ = try Connection(["host": socket, "user": "postgres", "dbname": "postgres"]).run([Command(sql)])
    }

    /// Closes the connection and deletes the database, which nothing else uses any more.
    func remove() async throws {
        await pool.close()
        try Self.run("DROP DATABASE \"\(name)\" WITH (FORCE)", at: socket)
    }

    /// Sets the time of the database, in milliseconds since 1970.
    func setClock(to milliseconds: Int64) async throws {
        try await pool.perform(.writing) { $0.add("UPDATE simulated_clock SET milliseconds = $1", milliseconds) }
    }

    /// Lets the writing transactions of a server fail, after a number of further ones.
    func partition(_ server: String, after count: Int) async throws {
        try await pool.perform(.writing) { database in
            // This transaction has the last value of the sequence.
            database.add("INSERT INTO partition SELECT '\(server)', last_value + 1 + $1 FROM transaction", Int64(count))
        }
    }

    func heal(_ server: String) async throws {
        try await pool.perform(.writing) { $0.add("DELETE FROM partition WHERE server = '\(server)'") }
    }

    /// Reads the rows that several servers share.
    func rows() async throws -> ClusterRows {
        try await pool.perform(.reading) { database in
            let milliseconds = { (time: String) in "(extract(epoch FROM \(time)) * 1000)::int8" }
            let results = try database.fetch([
                Command("SELECT number, name, \(milliseconds("lease_ends")), is_leaving, is_fenced FROM server"),
                Command("SELECT id, hash, server, is_taken, \(milliseconds("recorded_at")), state, is_unfinished FROM message"),
                Command("SELECT id, server, state, finished_at IS NULL, attempts FROM push"),
                Command("SELECT name, server, \(milliseconds("lease_ends")) FROM job"),
                Command("SELECT key_hash, installation_id, version, is_live FROM registration"),
            ])
            var rows = ClusterRows()
            rows.servers = try Self.dictionary(results[0]) { row in
                (try row.next(), .init(name: try row.next(), leaseEnd: try row.next(), isLeaving: try row.next(), isFenced: try row.next()))
            }
            rows.messages = try Self.dictionary(results[1]) { row in
                (
                    try row.next(),
                    .init(
                        hash: try row.next(), server: try row.next(), isTaken: try row.next(), recordedAt: try row.next(),
                        state: try row.next(), isUnfinished: try row.next())
                )
            }
            rows.pushes = try Self.dictionary(results[2]) { row in
                (try row.next(), .init(server: try row.next(), state: try row.next(), isOpen: try row.next(), attemptCount: try row.next()))
            }
            rows.jobs = try Self.dictionary(results[3]) { (try $0.next(), .init(server: try $0.next(), leaseEnd: try $0.next())) }
            rows.phones = try Self.dictionary(results[4]) { row in
                (
                    Installation(keyHash: try row.next(), installationID: try row.next()),
                    ReferenceModel.Phone(version: try row.next(), isLive: try row.next())
                )
            }
            return rows
        }
    }

    private static func dictionary<Key: Hashable, Value>(
        _ rows: Rows, _ read: (inout RowCursor) throws -> (Key, Value)
    ) throws -> [Key: Value] {
        Dictionary(try rows.map(read)) { first, _ in first }
    }
}
