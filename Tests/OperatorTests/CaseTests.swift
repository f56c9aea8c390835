import Bytes
import Conformance
import Foundation
import PushClient
import PushClientREST
import ServerFiles
import StatusCrypto
import Store
import TestSupport
import Testing
import WakuREST

@testable import Operator
@testable import PostgreSQLStore

/// Conditions about one of several values, with each of them.
@Suite(.fewAtATime) struct CaseTests {
    @Test(arguments: ClusterMember.State.allCases)
    func `a command changes a shared database unless a server runs`(state: ClusterMember.State) async throws {
        let folder = try TemporaryFolder()
        let url = try #require(try await TestDatabase.postgresql.settings(in: folder)["storage.url"])
        let store = try PostgreSQLStore(
            PostgreSQLLocation(url: url).connection(password: nil, name: "test"), identity: .init(repeating: 2),
            sealingKeys: testSealingKeys, serverName: "one", logger: quietLogger)
        let isRefused: Bool
        switch state {
        case .alive: isRefused = true
        case .leaving:
            try await store.stopReceiving()
            isRefused = true
        case .expired:
            try await store.pool.perform(.writing) { $0.add("UPDATE server SET lease_ends = now() - interval '1 s'") }
            isRefused = false
        case .fenced:
            try await store.pool.perform(.writing) { $0.add("UPDATE server SET is_fenced = true") }
            isRefused = false
        }
        var paths = ServerPaths(environment: ["STATE_DIRECTORY": folder.url.path])
        paths.databaseURL = url
        let database = ServerDatabase(paths)
        #expect(try await database.readCluster { try await $0.members().map(\.state) } == [state])
        if isRefused {
            let failure = await #expect(throws: Failure.self) { try await database.change { _ in } }
            #expect(failure?.message.hasSuffix(": one. Stop it first.") == true)
        } else {
            try await database.change { _ in }
        }
        await store.close()
    }

    static let statuses = [400, 401, 403, 404, 405, 408, 409, 412, 413, 429, 500, 501, 502, 503, 504]

    @Test(arguments: statuses, [true, false])
    func `a node that answers 404 or 412 for its store may have none`(status: Int, isFromStore: Bool) {
        let mayLackStore = isFromStore && (status == 404 || status == 412)
        let node = ConformanceNode(url: "http://node", pubsubTopic: "", reception: isFromStore ? .store : .relayCache)
        let failure = Failure(.nodeUnusable(.refused(status: status, text: "words")), node: node)
        #expect(failure.message.contains("--own-node") == mayLackStore && failure.kind == .unavailable)
        #expect(failure.message.contains("Does the node have peers") == (status >= 500))

        let access = NodeAccess(url: "http://node", pubsubTopic: "", reception: isFromStore ? .store : .relayCache)
        let error = PushClientError.nodeRejected(status: status, text: "words")
        let command = Failure(error, node: access, silence: "")
        #expect(command.message.contains("--own-node") == mayLackStore && command.kind == .unavailable)
        #expect(command.message.contains("Does the node have peers") == (status == 500))
    }
}
