import Bytes
import Envelope
import Foundation
import HTTPClient
import JSON
import PushProtocol
import ServerFiles
import StatusCrypto
package import Store

/// The registrations that a server removed for dead device tokens, newest first, without tokens.
package struct DeadTokensReport: Report {
    private struct Entry: Encodable {
        var id: Int64
        var diedAt: String
        var reason: String
        var route: String
        var keyHash: String
        var installationID: String
        /// Digits, because most readers of JSON lose precision above 2^53.
        var version: String
    }

    private let entries: [Entry]

    package init(limit: Int, reading store: any OperatorViews) async throws {
        entries = try await store.deadRegistrations(limit: limit).map {
            Entry(
                id: $0.id, diedAt: Date(timeIntervalSince1970: Double($0.diedAt.nanoseconds) / 1e9).formatted(.iso8601), reason: $0.reason,
                route: $0.route, keyHash: $0.installation.keyHash.description, installationID: $0.installation.installationID,
                version: "\($0.version)")
        }
    }

    package var lines: [String] {
        entries.map { "\($0.id)  \($0.diedAt)  \($0.route)  \($0.reason)  \($0.keyHash.prefix(16))…  \($0.installationID)" }
    }

    package func encode(to encoder: any Encoder) throws { try entries.encode(to: encoder) }
}

/// The result of restoring registrations that a running server removed for dead device tokens.
package struct RestoredDeadTokensReport: Report, Decodable {
    private var restored: Int

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

    /// Restores registrations through a running server's admin endpoints.
    ///
    /// - Parameters:
    ///   - ids: The entries in the list, by id, or nil for all.
    ///   - admin: Where the server's admin endpoints are.
    ///   - database: The database. The token for the admin endpoints is in a file next to it.
    package init(restoring ids: [Int64]?, admin: String, database: ServerDatabase) async throws {
        let tokenFile = database.path + ".admin-token"
        guard let token = (try? PrivateFile(path: tokenFile).read()).map({ String(decoding: $0, as: UTF8.self) }) else {
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
                    body: Array(try JSONEncoder().encode(Request(ids: ids))), timeout: .seconds(30),
                    maximumResponseBodyByteCount: 1 << 16))
        } catch {
            throw Failure.unavailable("The server does not respond at \(admin). Is it running? Name its admin address with --admin.")
        }
        guard response.status != 404 || ids == nil else {
            throw Failure.failed(
                "No registration was restored: the list does not contain them, or their owners have registered or unregistered since.")
        }
        guard response.status == 200, let report = try? JSON.decode(Self.self, from: response.body) else {
            throw Failure.failed("The server responded with \(response.status). Does the database belong to the server at \(admin)?")
        }
        self = report
    }

    package var lines: [String] { ["restored \(restored)"] }
}
