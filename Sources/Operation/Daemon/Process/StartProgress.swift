import Dispatch
import Foundation

/// Asks the service manager for more time while a long start makes progress, for example while it migrates a large database.
///
/// Otherwise systemd would end the server after the unit's `TimeoutStartSec`, at the same work in every start.
struct StartProgress {
    static let interval = Duration.seconds(10)
    /// The time that each message asks for, so that the start survives some messages that are late.
    static let timeLimit = Duration.seconds(60)

    private var byteCount: Int?

    /// Returns what to tell the service manager, or nil if the process has read and written nothing since the last call, because a start
    /// that hangs should not get more time.
    ///
    /// - Parameters:
    ///   - byteCount: What the process has read and written since it began.
    ///   - elapsed: The time since the start began.
    mutating func observe(byteCount: Int, after elapsed: Duration) -> [ServiceManager.Notification]? {
        defer { self.byteCount = byteCount }
        guard let earlier = self.byteCount, byteCount > earlier else { return nil }
        return [
            .starting(atMost: Self.timeLimit),
            .status("opening the database: \(byteCount >> 20) MiB read and written in \(elapsed.components.seconds) s"),
        ]
    }

    /// Tells the service manager how the start progresses, until the returned closure is called.
    static func report(to serviceManager: ServiceManager?) -> () -> Void {
        guard let serviceManager else { return {} }
        let start = ContinuousClock.now
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "start-progress"))
        nonisolated(unsafe) var progress = StartProgress()  // only the timer's serial queue uses it
        timer.setEventHandler {
            let notifications = unsafe progress.observe(byteCount: transferredByteCount(), after: ContinuousClock.now - start)
            if let notifications { serviceManager.notify(notifications) }
        }
        timer.schedule(deadline: .now(), repeating: .seconds(Int(interval.components.seconds)))
        timer.resume()
        return { timer.cancel() }
    }

    /// What the process has read and written, in bytes (proc(5), `/proc/self/io`).
    private static func transferredByteCount() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8) else { return 0 }
        let counts = text.split(separator: "\n").prefix(2).compactMap { line in line.split(separator: " ").last.flatMap { Int($0) } }
        return counts.reduce(0) { $0.addingReportingOverflow($1).partialValue }
    }
}
