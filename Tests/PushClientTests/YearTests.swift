import Envelope
import Foundation
import PushClient
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

/// A year in the life of a phone and a tablet of one person, whose server loses and restores its database, and who lose theirs.
@Suite(.safetyNet)
struct YearTests {
    private let network = FakeNetwork(serverCount: 1)
    private let alice = Identity(.test(7))
    private var server: FakeServer { network.servers[0] }
    private let day = Duration.seconds(24 * 60 * 60)

    /// A device with its app, and perhaps the app's extension, which share a state.
    private final class RunningDevice {
        let token: String
        private let running: [Task<Void, Never>]

        /// Starts its clients with an empty state.
        init(_ token: String, of owner: Identity, on network: FakeNetwork, clientCount: Int = 1) async throws {
            self.token = token
            let state = MarkedState(memory: MemoryState(), deviceMark: "mark of the \(token)")
            var running: [Task<Void, Never>] = []
            for _ in 1...clientCount {
                let client = try await RegisteringClient(identity: owner, node: network.node, state: state, advertisingInterval: nil)
                _ = try await client.register(Device(firebaseToken: token), with: [network.servers[0].identity])
                running.append(Task { await client.run() })
            }
            self.running = running
        }

        func stop() async {
            for task in running { task.cancel() }
            for task in running { await task.value }
        }
    }

    @Test func `after each loss the phone is reachable within a week, and no message rings twice`() async throws {
        network.clock.hold()
        var phone = try await RunningDevice("phone", of: alice, on: network, clientCount: 2)
        let tablet = try await RunningDevice("tablet", of: alice, on: network)
        // The friend's waits take none of the year.
        let clock = TestClock()
        let node = Node(
            transport: FakeTransport(node: network, time: clock), pubsubTopic: FakeServer.pubsubTopic, clock: clock,
            limitClock: clock.limits, wallClock: network.clock.wallClock)
        let friend = SendingClient(node: node, state: MemoryState())
        let first = server.backup()
        var older = first
        // The days of the year on which messages may not arrive.
        var excused: Set<Int> = []
        var missed: [Int] = []

        for today in 1...365 {
            switch today {
            case 30:
                server.forgetRegistrations()
                excused.formUnion(30..<37)
            case 60: older = server.backup()
            case 81:
                server.restore(older)
                excused.formUnion(81..<88)
            case 120:
                older = server.backup()
                server.isSilent = true
                excused.formUnion(120..<123)
            case 123:
                server.isSilent = false
                server.restore(older)
            case 150, 240:
                await phone.stop()
                phone = try await RunningDevice("phone", of: alice, on: network, clientCount: 2)
            case 200:
                network.setDown(true)
                excused.formUnion(200..<203)
            case 203: network.setDown(false)
            case 280:
                server.restore(first)
                excused.formUnion(280..<287)
            default: break
            }
            await network.clock.pass(for: day)
            let count = server.deliveredPushes.count
            let message = PushMessage(kind: .message, messageID: [UInt8(today >> 8), UInt8(today & 0xff)])
            _ = try? await friend.push(message, to: [Recipient(alice.publicKey)])
            let rung = server.deliveredPushes.dropFirst(count).map(\.deviceToken)
            #expect(Set(rung).count == rung.count, "day \(today): \(rung)")
            if rung.sorted() != ["phone", "tablet"], !excused.contains(today) { missed.append(today) }
        }
        #expect(missed == [])
        // Nothing alternates: each client registers its device about once a week, and after each loss.
        let registrations = server.requests.count { $0.type == .pushNotificationRegistration }
        #expect((100...3 * 60).contains(registrations))
        #expect(server.registrationCount == 2)
        await phone.stop()
        await tablet.stop()
    }
}
