import Bytes
import Envelope
import Foundation
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// Accepted pushes survive any end of the process.
@Suite(.fewAtATime)
struct RestartTests {
    enum End: CaseIterable {
        case terminated
        case killed
    }

    @Test(arguments: End.allCases, TestDatabase.allCases)
    func `after a restart an old version is still refused, and a waiting push is delivered`(end: End, database: TestDatabase) async throws {
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            // gorush is unavailable until the server has exited.
            gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            let settings = ["gorush.url": await gorush.url]

            let first = try await ServerProcess.start(in: folder, on: database, settings: settings)
            let key = try serverKey(of: first)
            let alice = ProtocolClient(server: key)
            let bob = ProtocolClient(server: key)
            let network = Network(first)
            try await network.publish(alice.envelope(alice.registration(version: 5)))
            #expect(try await registrationResponse(to: alice, from: network).success)
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            let response = try PushNotificationResponse.decode(try await network.firstReply { bob.open($0)?.payload })
            #expect(response.reports.map(\.success) == [true])
            switch end {
            case .terminated: #expect(await first.terminate() == 0)
            case .killed: await first.kill()
            }
            #expect(gorush.notifications.all.isEmpty)

            gorush.breakDown(nil)
            let second = try await ServerProcess.start(in: folder, on: database, settings: settings)
            #expect(second.addresses.publicKey == first.addresses.publicKey)
            let later = Network(second)
            #expect(await gorush.waitForNotifications(count: 1).map(\.tokens) == [[alice.registration().deviceToken.text]])
            try await later.publish(alice.envelope(alice.registration(version: 5, deviceToken: String(repeating: "cd", count: 32))))
            #expect(try await registrationResponse(to: alice, from: later).error == .versionMismatch)
            #expect(await second.terminate() == 0)
            #expect(gorush.notifications.all.count == 1)
        }
    }

    /// A power cut during SQLite's write, or a copy of a running server's files, leaves a torn WAL.
    @Test func `a torn end of the WAL loses at most the last transaction, and no recorded message`() async throws {
        let folder = try TemporaryFolder()
        let first = try await ServerProcess.start(in: folder)
        let alice = ProtocolClient(server: try serverKey(of: first))
        let network = Network(first)
        try await network.publish(alice.envelope(alice.registration(version: 5)))
        #expect(try await registrationResponse(to: alice, from: network).success)
        await first.kill()
        let log = try FileHandle(forUpdating: URL(filePath: folder.path("push.sqlite-wal")))
        let byteCount = try log.seekToEnd()
        try #require(byteCount > 100)
        try log.truncate(atOffset: byteCount - 100)
        try log.close()

        let second = try await ServerProcess.start(in: folder)
        // The server repeats a decision of the last transaction, because an earlier transaction recorded the message.
        try await ServerDatabase(of: second).wait(for: "registration") { $0 == 1 }
        #expect(await second.terminate() == 0)
        try await second.audit()
    }
}

func serverKey(of server: ServerProcess) throws -> PublicKey {
    try PublicKey(uncompressed: #require(Hex.decode(server.addresses.publicKey.dropFirst(2))))
}

func registrationResponse(
    to client: ProtocolClient, from network: Network
) async throws -> PushNotificationRegistrationResponse {
    try PushNotificationRegistrationResponse.decode(try await network.firstReply { client.open($0)?.payload })
}
