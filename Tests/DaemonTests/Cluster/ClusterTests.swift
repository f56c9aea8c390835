import Glibc
import TestServers
import TestSupport
import Testing

/// Two servers with one identity on one PostgreSQL database, each at a node of its own, while clients write.
@Suite(.fewAtATime) struct ClusterTests {
    /// The interruption of one of the servers.
    enum Interruption: CaseIterable {
        /// An update stops the server.
        case drained
        case killed
        /// SIGSTOP until the other server has taken over the work, and then SIGCONT.
        case frozen
    }

    @Test(arguments: Interruption.allCases)
    func `two servers reply to all messages and deliver all pushes while one stops and returns`(interruption: Interruption) async throws {
        try await withClusterWorld(["one", "two"]) { world in
            let gorush = world.gorush
            var one = try await world.start("one")
            let two = try await world.start("two")
            let clients = try Clients(of: two, on: world.bus)
            try await clients.registerOwners()
            try await clients.write(0..<8)

            async let load: Void = clients.write(8..<16)
            switch interruption {
            case .drained: #expect(try await world.drain(one) == 0)
            case .killed: await one.kill()
            case .frozen: one.signal(SIGSTOP)
            }
            try await load
            try await clients.write(16..<20)
            await clients.waitForAnswers(to: 20)
            if interruption == .frozen {
                try await world.waitForCluster { $0.contains("one (1): fenced") }
                try await ClusterCampaign.prolongInterruption()
                one.signal(SIGCONT)
                // The server has another number once it has joined again.
                try await world.waitForCluster { $0.contains("one (3): alive") }
            } else {
                one = try await world.start("one")
            }
            try await clients.write(20..<32)
            await clients.waitForAnswers(to: 32)
            await gorush.waitForNotifications(count: clients.senders.count)

            #expect(await one.terminate() == 0)
            #expect(await two.terminate() == 0)
            try await world.audit()
            let answers = clients.answerCounts
            if interruption == .drained {
                #expect(answers == Array(repeating: 2, count: clients.senders.count))
                #expect(gorush.notifications.all.count == clients.senders.count)
            } else {
                #expect(answers.allSatisfy { $0 >= 2 })
            }
        }
    }
}
