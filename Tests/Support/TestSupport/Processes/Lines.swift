/// Lines of text that arrive over time. Tests can wait for them.
package final class Lines: Sendable {
    private struct State {
        var lines: [String] = []
        var partial: [UInt8] = []
        var hasEnded = false
    }

    private let state = Condition(State())

    init() {}

    /// All lines so far, without their line breaks.
    package var all: [String] { state.read(\.lines) }

    /// Appends bytes.
    ///
    /// - Parameter bytes: The bytes that were read. Empty bytes mark the end.
    func append(_ bytes: some Collection<UInt8> & Sendable) {
        state.change { state in
            state.hasEnded = state.hasEnded || bytes.isEmpty
            state.partial += bytes
            let parts = state.partial.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            state.lines += parts.dropLast().map { String(decoding: $0, as: UTF8.self) }
            state.partial = parts.last.map { [UInt8]($0) } ?? []
            if state.hasEnded, !state.partial.isEmpty {
                state.lines.append(String(decoding: state.partial, as: UTF8.self))
                state.partial = []
            }
        }
    }

    /// Waits for a line.
    ///
    /// - Returns: false if the end came before the line, or the task was cancelled.
    package func wait(for predicate: @escaping @Sendable (String) -> Bool) async -> Bool {
        await waitOrEnd { $0.contains(where: predicate) }
    }

    /// Waits until there are at least `count` lines.
    ///
    /// - Returns: false if the end came before, or the task was cancelled.
    package func wait(count: Int) async -> Bool {
        await waitOrEnd { $0.count >= count }
    }

    /// Waits until the last line has arrived, or the task is cancelled.
    package func waitForEnd() async {
        await state.wait(until: \.hasEnded)
    }

    private func waitOrEnd(until isSo: @escaping @Sendable ([String]) -> Bool) async -> Bool {
        await state.wait { isSo($0.lines) || $0.hasEnded }
        return state.read { isSo($0.lines) }
    }
}
