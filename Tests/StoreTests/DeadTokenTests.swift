import Envelope
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Store

@Suite(.safetyNet)
struct DeadTokenTests {
    private let later = start.advanced(by: .seconds(1))

    private func bury(_ registration: Registration, in store: PushStore) async throws -> [ChangedRegistration] {
        try await store.commit {
            try $0.bury(
                registration.content.deviceToken, type: .apn, registeredBefore: later, reason: "Unregistered", route: "ios", at: later)
        }
    }

    @Test func `What was buried comes back whole`() async throws {
        try await withStore { store in
            let row = try await store.register(registration())
            #expect(try await bury(registration(), in: store) == [ChangedRegistration(registration: row, topics: topics)])
            #expect(try await store.registrationCount() == 0)
            let dead = try await store.deadRegistrations(limit: 9)
            #expect(
                dead == [
                    DeadRegistration(
                        id: 1, diedAt: later, reason: "Unregistered", route: "ios", installation: installation(), version: 1)
                ])
            let restored = try await store.restoreDeadRegistrations([1, 2], at: later)
            #expect(restored == [ChangedRegistration(registration: row, topics: topics)])
            #expect(try await store.deadRegistrations(limit: 9) == [])
            // Buried again, the copy is made of what was restored: it must be what the client sent.
            _ = try await store.commit {
                try $0.bury(
                    "device token 1", type: .apn, registeredBefore: later.advanced(by: .seconds(9)), reason: "", route: "", at: later)
            }
            let content = try await store.read { database in
                try database.first("SELECT content FROM dead_registration") { try PushNotificationRegistration.decode($0.bytes(0)) }
            }
            #expect(content == registration().content)
        }
    }

    @Test func `Who has registered or unregistered since is left as he is`() async throws {
        try await withStore { store in
            try await store.register(registration(installation(1, key: 1)))
            try await store.register(registration(installation(2, key: 2)))
            _ = try await bury(registration(), in: store)
            try await store.register(registration(installation(1, key: 1), version: 2), at: later)
            try await store.commit { transaction throws in
                _ = try transaction.unregister(installation(2, key: 2), version: 2, plaintextDigest: hash(2), at: later)
            }
            #expect(try await store.restoreDeadRegistrations(at: later) == [])
            let versions = try await store.commit { transaction in
                try (1...2).map { try transaction.storedVersion(of: installation($0, key: $0)) }
            }
            #expect(versions.map { $0?.version } == [2, 2])
            #expect(versions.map { $0?.isRegistered } == [true, false])
        }
    }

    @Test func `A suspicion keeps its first time until it is lifted, and both it and the copies are pruned`() async throws {
        try await withStore { store in
            try await store.register(registration())
            _ = try await bury(registration(), in: store)
            try await store.commit { transaction throws in
                #expect(try transaction.suspicion(against: hash(1)) == nil)
                try transaction.suspect(hash(1), at: start)
                try transaction.suspect(hash(1), at: later)
                #expect(try transaction.suspicion(against: hash(1)) == start)
                try transaction.clearSuspicion(against: hash(1))
                #expect(try transaction.suspicion(against: hash(1)) == nil)
                try transaction.suspect(hash(2), at: start)
            }
            _ = try await store.prune(at: later.advanced(by: PushStore.deadTokenRetention))
            #expect(try await store.deadRegistrations(limit: 9).count == 1)
            _ = try await store.prune(at: later.advanced(by: PushStore.deadTokenRetention + .seconds(1)))
            #expect(try await store.deadRegistrations(limit: 9) == [])
            #expect(try await store.commit { try $0.suspicion(against: hash(2)) } == nil)
        }
    }

    @Test func `An operator sees how many there are, and one key's without their secrets`() async throws {
        try await withStore { store in
            try await store.register(registration(installation(1, key: 1)))
            try await store.register(registration(installation(2, key: 2), version: 3))
            try await store.commit { transaction throws in
                _ = try transaction.unregister(installation(3, key: 2), version: 4, plaintextDigest: hash(1), at: start)
            }
            #expect(try await store.registrationCounts() == RegistrationCounts(live: [.apn: 2], tombstones: 1))
            let summaries = try await store.registrationSummaries(of: hash(2))
            #expect(summaries.map(\.installationID) == ["installation-2", "installation-3"])
            #expect(summaries.map(\.isLive) == [true, false])
            #expect(summaries.map(\.version) == [3, 4])
            #expect(!"\(summaries)".contains("token 3"))
        }
    }
}
