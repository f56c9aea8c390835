import Bytes
import Foundation
import PushClient
import PushClientFileState
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

/// States that a backup has copied to another device, and files that are closed.
@Suite(.safetyNet)
struct BackupTests {
    private let network = FakeNetwork(serverCount: 1)
    private let alice = Identity(.test(7))
    private var server: FakeServer { network.servers[0] }

    private func client(_ state: any ClientState, _ installationID: String? = nil) async throws -> RegisteringClient {
        try await RegisteringClient(
            identity: alice, installationID: installationID, node: network.node, state: state, advertisingInterval: nil)
    }

    private func register(_ client: RegisteringClient, _ token: String) async throws -> String {
        _ = try await client.register(Device(firebaseToken: token), with: [server.identity])
        return await client.installationID
    }

    @Test func `another device's mark starts a new installation, and both phones stay registered`() async throws {
        let memory = MemoryState()
        let old = try await register(client(MarkedState(memory: memory, deviceMark: "old")), "old phone")
        let restored = try await client(MarkedState(memory: memory, deviceMark: "new"))
        #expect(await restored.accessToken == nil)
        let new = try await register(restored, "new phone")
        #expect(new != old && Set(server.registrations.map(\.deviceToken.text)) == ["old phone", "new phone"])
        // From now on the state is the new phone's.
        let again = try await client(MarkedState(memory: memory, deviceMark: "new"))
        #expect(await again.installationID == new)
    }

    @Test func `an app and its extension start one new installation`() async throws {
        let memory = MemoryState()
        let old = try await register(client(MarkedState(memory: memory, deviceMark: "old")), "old phone")
        let (app, helper) = (
            try await client(MarkedState(memory: memory, deviceMark: "new")),
            try await client(MarkedState(memory: memory, deviceMark: "new"))
        )
        let ids = [try await register(app, "new phone"), try await register(helper, "new phone")]
        #expect(Set(ids).count == 1 && ids[0] != old && server.registrationCount == 2)
    }

    @Test(arguments: [(nil, nil), (nil, "a"), ("a", nil), ("a", "a")] as [(String?, String?)])
    func `no mark, a first mark and the same mark change nothing`(before: String?, after: String?) async throws {
        let memory = MemoryState()
        let old = try await register(client(MarkedState(memory: memory, deviceMark: before)), "phone")
        let restored = try await client(MarkedState(memory: memory, deviceMark: after))
        #expect(await restored.installationID == old)
        #expect(try await register(restored, "phone") == old && server.requests.count == 1)
        // The first mark is kept: the next phone is recognised.
        let next = try await client(MarkedState(memory: memory, deviceMark: "next"))
        #expect(await (next.installationID == old) == (before == nil && after == nil))
    }

    @Test func `an installation that the app names stays`() async throws {
        let memory = MemoryState()
        let id = "b6ae4fde-bb65-11ea-b3de-0242ac130004"
        _ = try await register(client(MarkedState(memory: memory, deviceMark: "old"), id), "phone")
        let restored = try await client(MarkedState(memory: memory, deviceMark: "new"), id)
        #expect(await restored.accessToken != nil)
    }

    @Test func `the mark itself is not in the file, and a closed file is an error`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("state.sqlite")
        let state = try FileState(path: path, deviceMark: "Alice's new phone")
        let id = try await register(client(state), "phone")
        try state.close()
        let error = await #expect(throws: PushClientError.self) { try await state.value(named: "a") }
        #expect(error?.code == .stateUnusable)
        try state.close()
        #expect(try !Data(contentsOf: URL(filePath: path)).contains(Data("Alice".utf8)))
        #expect(try await client(try FileState(path: path, deviceMark: "Alice's new phone")).installationID == id)
        #expect(try await client(try FileState(path: path, deviceMark: "Bob's")).installationID != id)
    }
}

extension Data {
    fileprivate func contains(_ other: Data) -> Bool { range(of: other) != nil }
}
