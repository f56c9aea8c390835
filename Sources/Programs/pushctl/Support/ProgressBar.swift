import Foundation
import Operator
import Synchronization

/// A line on standard error that shows how a long command progresses.
///
/// The line is shown only if standard output and standard error are terminals, so that files and pipes don't receive it.
final class ProgressBar: Sendable {
    private struct State {
        var step: String?
        var stepStart = ContinuousClock.now
        var lastLine: ContinuousClock.Instant?
    }

    /// The time between two lines. Nobody would see more frequent changes.
    private static let interval = Duration.milliseconds(100)

    private let isShown: Bool
    private let state = Mutex(State())

    /// - Parameter json: Whether the command prints JSON. Then it doesn't show progress.
    init(json: Bool = false) {
        isShown = !json && Terminal.isInteractive
    }

    /// Runs a command's body with a function that shows its progress, and removes the line at the end.
    ///
    /// - Parameter json: Whether the command prints JSON. Then it doesn't show progress.
    static func whileRunning<Result>(json: Bool = false, _ body: (@escaping Operator.Progress.Report) async throws -> Result) async throws
        -> Result
    {
        let bar = ProgressBar(json: json)
        defer { bar.remove() }
        return try await body { bar.show($0) }
    }

    private func show(_ progress: Operator.Progress) {
        guard isShown else { return }
        state.withLock { state in
            let now = ContinuousClock.now
            if state.step != progress.step {
                state.step = progress.step
                state.stepStart = now
                state.lastLine = nil
            }
            guard progress.done >= progress.total || state.lastLine.map({ now - $0 >= Self.interval }) ?? true else { return }
            state.lastLine = now
            // The last column stays free: a character there wraps the line on some terminals.
            Terminal.writeToStandardError(
                "\r\u{1B}[K" + progress.line(elapsed: now - state.stepStart, width: Terminal.size.columns - 1))
        }
    }

    private func remove() {
        state.withLock { if $0.lastLine != nil { Terminal.writeToStandardError("\r\u{1B}[K") } }
    }
}
