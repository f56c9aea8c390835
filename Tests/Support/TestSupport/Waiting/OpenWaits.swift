/// What a test waits for at the moment, so that a test which hangs can say it.
package final class OpenWaits: Sendable {
    private struct Wait: Sendable {
        var start: ContinuousClock.Instant
        var text: @Sendable () -> String
        /// Tells how far that has got which is waited for.
        var progress: @Sendable () -> Int
        var lastProgress: Int
    }

    /// The waits of the running test. Nil in the programs that use this module too.
    @TaskLocal package static var current: OpenWaits?

    private let waits = Condition<(lastNumber: Int, open: [Int: Wait])>((0, [:]))

    package init() {}

    /// Runs a body that waits.
    ///
    /// - Parameters:
    ///   - place: Where it waits.
    ///   - state: Describes what it sees instead of what it waits for.
    ///   - progress: A number that rises while that works which is waited for. The wait does not hang while it rises.
    package static func during<Result: Sendable>(
        _ place: @autoclosure @escaping @Sendable () -> String, seeing state: @escaping @Sendable () -> String = { "" },
        progress: @escaping @Sendable () -> Int = { 0 }, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        guard let current else { return try await body() }
        let start = progress()
        let number = current.waits.change { waits in
            waits.lastNumber += 1
            waits.open[waits.lastNumber] = Wait(
                start: .now, text: { [place(), state()].filter { !$0.isEmpty }.joined(separator: ", sees ") }, progress: progress,
                lastProgress: start)
            return waits.lastNumber
        }
        defer { current.waits.change { $0.open[number] = nil } }
        return try await body()
    }

    /// Waits until so many waits are open at least, or until the task is cancelled.
    package func wait(for count: Int) async { await waits.wait { $0.open.count >= count } }

    /// Returns when a wait has lasted that long, or when the task is cancelled.
    package func waitForHang(of limit: Duration) async {
        while !Task.isCancelled {
            noteProgress(after: limit)
            let start = waits.read { $0.open.values.map(\.start).min() } ?? .now
            guard start.duration(to: .now) < limit else { return }
            try? await Task.sleep(until: start.advanced(by: limit), clock: .continuous)
        }
    }

    /// Lets waits begin anew that have lasted that long and have got further since.
    private func noteProgress(after limit: Duration) {
        let now = ContinuousClock.now
        for (number, wait) in waits.read(\.open) where wait.start.duration(to: now) >= limit {
            let progress = wait.progress()
            guard progress > wait.lastProgress else { continue }
            waits.change {
                $0.open[number]?.start = now
                $0.open[number]?.lastProgress = progress
            }
        }
    }

    /// What the test waits for, the longest wait first, or nil if it doesn't wait.
    package var hang: String? {
        let now = ContinuousClock.now
        let open = waits.read { Array($0.open.values) }.sorted { $0.start < $1.start }
        let lines = open.map { "for \($0.start.duration(to: now).components.seconds) s at \($0.text())" }
        return lines.isEmpty ? nil : "hangs: it waits \(lines.joined(separator: "\nand "))"
    }
}
