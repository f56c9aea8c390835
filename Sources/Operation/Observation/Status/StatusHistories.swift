import Foundation
import Platform
import ServerFiles
import Store

/// The status page's histories, about 25 kB.
struct StatusHistories: Sendable, Codable {
    private var received = StatusHistory()
    private var accepted = StatusHistory()
    private var sent = StatusHistory()
    private var deadToken = StatusHistory()
    private var expired = StatusHistory()
    private var openPushes = StatusHistory()
    private var registrations = StatusHistory()

    mutating func record(_ figures: StoreFigures?, minute: Int) {
        let ledger = figures?.ledger
        received.record(ledger?.count(.received), minute: minute)
        accepted.record(ledger?.count(.accepted), minute: minute)
        sent.record(ledger?.count(.sent), minute: minute)
        deadToken.record(ledger?.count(.deadToken), minute: minute)
        expired.record(ledger?.count(.expired), minute: minute)
        openPushes.record(figures.map { Int($0.ledger.openCount) }, minute: minute)
        registrations.record(figures?.registrationCount, minute: minute)
    }

    var lastHour: StatusSnapshot.HourFlow? { flow(\.lastHourIncrease) }
    var hourYesterday: StatusSnapshot.HourFlow? { flow(\.hourYesterdayIncrease) }

    private func flow(_ increase: (StatusHistory) -> Int?) -> StatusSnapshot.HourFlow? {
        guard let received = increase(received), let accepted = increase(accepted), let sent = increase(sent),
            let deadToken = increase(deadToken), let expired = increase(expired)
        else { return nil }
        return .init(received: received, accepted: accepted, sent: sent, deadToken: deadToken, expired: expired)
    }

    var all: StatusSnapshot.Histories {
        var all = StatusSnapshot.Histories()
        all.received = received.increases
        all.accepted = accepted.increases
        all.sent = sent.increases
        all.openPushes = openPushes.values
        all.registrations = registrations.values
        return all
    }

    fileprivate var isValid: Bool {
        [received, accepted, sent, deadToken, expired, openPushes, registrations].allSatisfy(\.isValid)
    }
}

/// The file that keeps the histories between two runs. Nothing else depends on the file, so it is ignored if it cannot be read or written.
package struct StatusHistoryFile: Sendable {
    /// The file's content.
    private struct Content: Codable {
        var owner: String
        var histories: StatusHistories
    }

    /// The path, or nil to keep nothing.
    private let path: String?
    private let owner: String

    /// - Parameter owner: The server key and the database whose figures the file has. Those of others are ignored.
    package init(path: String?, owner: String) {
        (self.path, self.owner) = (path, owner)
    }

    /// Reads the file, which is about 20 kB long. A private file may have up to 64 kB.
    func read() -> StatusHistories {
        guard let path, let bytes = try? PrivateFile(path: path).read(),
            let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)), content.owner == owner, content.histories.isValid
        else { return StatusHistories() }
        return content.histories
    }

    /// Writes the file on a separate thread, because that waits for the disk.
    func write(_ histories: StatusHistories) async {
        guard let path, let bytes = try? JSONEncoder().encode(Content(owner: owner, histories: histories)) else { return }
        await withCheckedContinuation { continuation in
            startThread(named: "status history") {
                try? PrivateFile(path: path).write([UInt8](bytes), replaces: true)
                continuation.resume()
            }
        }
    }
}
