import Envelope
import Foundation
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Transport
import Wire

/// Pushes of servers on a PostgreSQL whose standby is promoted before it has the newest writes.
@Suite(.fewAtATime) struct LostPushesTests {
    /// What happens to a phone's pushes before the standby is promoted.
    private enum Fate: Int, CaseIterable {
        case delivered, deliveredInLostTime, withdrawnInLostTime, inFlight, waiting
        case acceptedAndDeliveredInLostTime, acceptedInLostTimeAndInFlight, acceptedInLostTimeAndWaiting
    }

    /// A phone with its owner.
    private struct Phone {
        let fate: Fate
        let owner: ProtocolClient

        var token: String { String(repeating: "b\(fate.rawValue)", count: 32) }
        var isUsedInLostTime: Bool { fate.rawValue >= Fate.acceptedAndDeliveredInLostTime.rawValue }
        /// PostgreSQL reserves ids by 32, so fewer in the lost time would not be given out again.
        var pushCount: Int { isUsedInLostTime ? 16 : 1 }
        var registration: PushNotificationRegistration { owner.registration(deviceToken: token) }

        func states(_ state: String) -> [String] { Array(repeating: state, count: pushCount) }
    }

    @Test(arguments: [["one"], ["one", "two"]])
    func `each push that the database or a node's store has gets its own outcome, and keeps its collapse id`(
        names: [String]
    ) async throws {
        let primary = try await PostgreSQLProcess.start()
        let standby = try await primary.startStandby()
        let database = PostgreSQLProcess.serverSettings(sockets: [primary.socket, standby.socket])
        try await withClusterWorld(names, database: database) { world in
            var servers: [ServerProcess] = []
            for name in names { servers.append(try await world.start(name)) }
            let key = try world.identity.publicKey
            let phones = Fate.allCases.map { Phone(fate: $0, owner: ProtocolClient(server: key, clock: .system)) }
            let sender = ProtocolClient(server: key, clock: .system)
            let network = world.bus.attach(listener: Listener())
            func phone(_ fate: Fate) -> Phone { phones[fate.rawValue] }
            func write(to phone: Phone) async throws {
                for number in 0..<phone.pushCount {
                    let request = sender.request([sender.notification(to: phone.owner)], messageID: Array("\(phone.fate) \(number)".utf8))
                    try await network.publish(sender.envelope(request))
                }
            }
            func wait(for fate: Fate, _ state: String) async throws {
                try await world.waitForPushes(to: phone(fate).owner, phone(fate).states(state))
            }

            world.gorush.breakDown(.hang, tokens: [phone(.inFlight).token, phone(.acceptedInLostTimeAndInFlight).token])
            for fate in [.deliveredInLostTime, .withdrawnInLostTime, .waiting, .acceptedInLostTimeAndWaiting] as [Fate] {
                world.gorush.fail(token: phone(fate).token, with: "ServiceUnavailable")
            }
            for phone in phones { try await network.publish(phone.owner.envelope(phone.registration)) }
            for phone in phones {
                try await OpenWaits.during("a registration") {
                    while try await world.version(of: phone.owner) != 1 { try Task.checkCancellation() }
                }
            }
            for phone in phones where !phone.isUsedInLostTime && phone.fate != .inFlight { try await write(to: phone) }
            try await wait(for: .delivered, "sent")
            for fate in [.deliveredInLostTime, .withdrawnInLostTime, .waiting] as [Fate] { try await wait(for: fate, "waiting") }
            // An attempt of more than five seconds is marked, and the next one would come after 150 s.
            try await write(to: phone(.inFlight))
            await world.gorush.waitForPost(to: phone(.inFlight).token)
            try await primary.detach(standby)
            let newest = try await world.number("max(id) FROM push")
            world.gorush.fail(token: phone(.deliveredInLostTime).token, with: nil)
            var withdrawal = phone(.withdrawnInLostTime).registration
            (withdrawal.unregister, withdrawal.version) = (true, 2)
            try await network.publish(phone(.withdrawnInLostTime).owner.envelope(withdrawal))
            for phone in phones where phone.isUsedInLostTime { try await write(to: phone) }
            for fate in [.deliveredInLostTime, .acceptedAndDeliveredInLostTime] as [Fate] { try await wait(for: fate, "sent") }
            try await wait(for: .withdrawnInLostTime, "withdrawn")
            await world.gorush.waitForPost(to: phone(.acceptedInLostTimeAndInFlight).token)
            let lostCount = phones.filter(\.isUsedInLostTime).map(\.pushCount).reduce(0, +)
            try await OpenWaits.during("pushes") {
                while try await world.number("count(*) FROM push WHERE id > \(newest)") != lostCount { try Task.checkCancellation() }
            }
            let newestLost = try await world.number("max(id) FROM push")

            await primary.kill()
            try await standby.promote()
            for server in servers { #expect(await server.exitCode == 75) }
            #expect(try await world.number("count(*) FROM push WHERE id > \(newest)") == 0)

            world.gorush.breakDown(nil)
            for fate in [.waiting, .acceptedInLostTimeAndWaiting] as [Fate] { world.gorush.fail(token: phone(fate).token, with: nil) }
            servers = []
            for name in names { servers.append(try await world.start(name)) }
            for fate in Fate.allCases { try await wait(for: fate, fate == .withdrawnInLostTime ? "withdrawn" : "sent") }
            // Ids of the lost time were given out again.
            #expect(try await world.number("count(*) FROM push WHERE id > \(newest) AND id <= \(newestLost)") > 0)
            for phone in phones where !phone.isUsedInLostTime {
                #expect(Set(try world.gorush.posts(to: phone.token).map(\.collapseIdentifier)).count == 1, "\(phone.fate)")
            }
            #expect(try world.gorush.posts(to: phone(.delivered).token).count == 1)
            try await world.audit()
            for server in servers { #expect(await server.launched.terminate() == 0) }
        }
        await standby.stop()
    }
}

extension StubGorush {
    /// Waits until gorush has got a push to a phone, whatever it answers.
    fileprivate func waitForPost(to token: String) async { await posts.wait { $0.contains { $0.body.contains(token) } } }

    /// The notifications that gorush has got for a phone, whatever it answered.
    fileprivate func posts(to token: String) throws -> [StubNotification] {
        struct Batch: Decodable { var notifications: [StubNotification] }
        return try posts.all.flatMap { try JSONDecoder().decode(Batch.self, from: Data($0.body.utf8)).notifications }
            .filter { $0.tokens.contains(token) }
    }
}
