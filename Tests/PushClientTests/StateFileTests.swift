import Bytes
import Foundation
import PushClient
import PushClientFileState
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing

/// The two kinds of state files: what they keep, and what they say when something is wrong.
@Suite(.safetyNet)
struct StateFileTests {
    enum Kind: CaseIterable {
        case json, sqlite

        func open(_ path: String) throws -> any ClientState {
            switch self {
            case .json: try JSONFileState(path: path)
            case .sqlite: try FileState(path: path)
            }
        }
    }

    private let folder: TemporaryFolder
    private var path: String { folder.path("push.state") }

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Why a state cannot be used.
    private func reason(_ body: () async throws -> Void) async throws -> String {
        let error = try #require(await #expect(throws: PushClientError.self) { try await body() })
        #expect(error.code == .stateUnusable)
        return error.reason
    }

    @Test(arguments: Kind.allCases) func `values stay, and only the owner may read the file`(kind: Kind) async throws {
        do {
            let state = try kind.open(path)
            try await state.save(Data([1, 2]), named: "registration/0x02")
            try await state.save(Data([3]), named: "other")
            try await state.save(Data([4]), named: "registration/0x02")
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let state = try kind.open(path)
        #expect(try await state.value(named: "registration/0x02") == Data([4]))
        #expect(try await state.value(named: "other") == Data([3]))
        #expect(try await state.value(named: "none") == nil)
    }

    @Test func `a client goes on with a JSON file`() async throws {
        let network = FakeNetwork(serverCount: 1)
        let device = Device(firebaseToken: "token")
        var ids: [String] = []
        for _ in 1...2 {
            let client = try await RegisteringClient(identity: Identity(.test(7)), node: network.node, state: JSONFileState(path: path))
            #expect(try await client.register(device, with: [network.servers[0].identity]).map(\.phase) == [.registered])
            ids.append(await client.installationID)
        }
        #expect(Set(ids).count == 1 && network.servers[0].requests.count == 1)
    }

    @Test func `a JSON file has one state at a time, and what a crash left beside it does no harm`() async throws {
        do {
            let state = try JSONFileState(path: path)
            try folder.write("part of a fi", to: "push.state.new")
            try await state.save(Data([1]), named: "a")
            let inUse = try await reason { _ = try JSONFileState(path: path) }
            #expect(inUse.hasPrefix("\(path) is in use: ") && inUse.hasSuffix("for several programs take a FileState"))
        }
        #expect(try await JSONFileState(path: path).value(named: "a") == Data([1]))
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test(arguments: Kind.allCases) func `a file of something else is an error that names it, and stays`(kind: Kind) async throws {
        let text = String(repeating: "no state ", count: 1_000)
        try folder.write(text, to: "push.state")
        #expect(try await reason { _ = try kind.open(path) } == "\(path) is not a state of this library: choose another path")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test func `a JSON file of a later version is an error`() async throws {
        try folder.write(#"{"version":2,"values":{}}"#, to: "push.state")
        let expected = "\(path) was written by a later version of this library: update the app"
        #expect(try await reason { _ = try JSONFileState(path: path) } == expected)
    }

    @Test(arguments: Kind.allCases) func `a folder that is missing is an error that names the file`(kind: Kind) async throws {
        let path = folder.path("missing/push.state")
        let reason = try await reason { _ = try kind.open(path) }
        #expect(reason.hasPrefix(path) && reason.hasSuffix("(No such file or directory): check the folder and its permissions"))
    }

    @Test(arguments: Kind.allCases, [true, false]) func `the next write notices that the file was deleted or replaced`(
        kind: Kind, isReplaced: Bool
    ) async throws {
        let state = try kind.open(path)
        try await state.save(Data([1]), named: "a")
        let copy = try Data(contentsOf: URL(filePath: path))
        try FileManager.default.removeItem(atPath: path)
        if isReplaced { try copy.write(to: URL(filePath: path)) }
        let reason = try await reason { try await state.save(Data([2]), named: "a") }
        #expect(reason.hasPrefix("\(path) was deleted or ") && reason.hasSuffix(": start the app again"))
        #expect(FileManager.default.fileExists(atPath: path) == isReplaced)
    }

    @Test(arguments: Kind.allCases) func `run tells that its state was deleted, at the next renewal`(kind: Kind) async throws {
        let network = FakeNetwork(serverCount: 1)
        let client = try await RegisteringClient(
            identity: Identity(.test(7)), node: network.node, state: kind.open(path), advertisingInterval: nil)
        _ = try await client.register(Device(firebaseToken: "token"), with: [network.servers[0].identity])
        try FileManager.default.removeItem(atPath: path)
        let events = client.events()
        network.clock.hold()
        let running = Task { await client.run() }
        let event = await network.clock.pass { await events.first { $0.kind == .failing } }
        running.cancel()
        await running.value
        #expect(event?.error?.reason.hasPrefix(path) == true && network.servers[0].requests.count == 1)
    }
}
