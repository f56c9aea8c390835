import ArgumentParser
import Envelope
import Foundation
import HTTPClient
import PushProtocol
import SQLiteStore
import Settings
import StatusCrypto
import Store

struct DeadTokensCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-tokens",
        abstract: "Shows what a server unregistered because the device token was dead, and brings it back.",
        subcommands: [List.self, Restore.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists them, the newest first; tokens are never shown.")

        @Option(help: "How many at the most.")
        var limit = 100

        @OptionGroup var database: DatabaseOptions
        @OptionGroup var output: OutputOptions

        private struct Entry: Encodable {
            var id: Int64
            var diedAt: String
            var reason: String
            var route: String
            var keyHash: String
            var installationID: String
            var version: UInt64
        }

        func run() async throws {
            let entries = try await database.withStore { try await $0.deadRegistrations(limit: limit) }.map {
                Entry(
                    id: $0.id, diedAt: Date(timeIntervalSince1970: Double($0.diedAt.nanoseconds) / 1e9).formatted(.iso8601),
                    reason: $0.reason, route: $0.route, keyHash: $0.installation.keyHash.description,
                    installationID: $0.installation.installationID, version: $0.version)
            }
            try output.print(entries) {
                entries.map { "\($0.id)  \($0.diedAt)  \($0.route)  \($0.reason)  \($0.keyHash.prefix(16))…  \($0.installationID)" }
            }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Brings registrations back, through the running server.",
            discussion: "What its owner has registered or unregistered since stays as the owner wants it.")

        @Argument(help: "Numbers from the list.")
        var ids: [Int64] = []

        @Flag(help: "All of them.")
        var all = false

        @Option(help: "The server's admin endpoints.")
        var admin = "http://127.0.0.1:8646"

        @OptionGroup var database: DatabaseOptions
        @OptionGroup var output: OutputOptions

        private struct Request: Encodable {
            var ids: [Int64]?

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(ids, forKey: .ids)
            }

            private enum CodingKeys: CodingKey {
                case ids
            }
        }

        private struct Answer: Codable {
            var restored: Int
        }

        func validate() throws {
            guard all != !ids.isEmpty else { throw ValidationError("Name what to restore, or say --all.") }
        }

        func run() async throws {
            let tokenFile = try database.paths().database + ".admin-token"
            guard let token = try? String(contentsOf: URL(filePath: tokenFile), encoding: .utf8) else {
                throw Failure.configuration("\(tokenFile) cannot be read. The server writes it at its start, for its own user.")
            }
            let http = HTTPClient(configuration: .init())
            defer { http.shutdown() }
            let response: HTTPResponse
            do {
                response = try await http.send(
                    HTTPRequest(
                        method: .post, url: admin + "/dead-tokens/restore",
                        headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
                        body: Array(try JSONEncoder().encode(Request(ids: all ? nil : ids))), timeout: .seconds(30),
                        maximumResponseBodyByteCount: 1 << 16))
            } catch {
                throw Failure.unavailable("The server does not answer at \(admin). Is it running? Name its admin address with --admin.")
            }
            guard response.status != 404 || all else {
                throw Failure.failed(
                    "None of them can be restored: the list does not have them, or their owners have registered or unregistered since.")
            }
            guard response.status == 200, let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body)) else {
                throw Failure.failed("The server answered \(response.status). Does the database belong to the server at \(admin)?")
            }
            try output.print(answer) { ["restored \(answer.restored)"] }
        }
    }
}
