/// Lines of text that arrive over time. Tests can wait for them.
package final class Lines: Sendable {
    private struct State: CustomStringConvertible {
        var lines: [String] = []
        var partial: [UInt8] = []
        var hasEnded = false

        /// The last lines, which tell most.
        var description: String { "\(lines.count) lines, the last of them \(lines.suffix(3))" }
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
    package func wait(
        for predicate: @escaping @Sendable (String) -> Bool, file: StaticString = #fileID, line: Int = #line
    ) async -> Bool {
        await waitOrEnd(until: { $0.contains(where: predicate) }, file, line)
    }

    /// Waits until there are at least `count` lines.
    ///
    /// - Returns: false if the end came before, or the task was cancelled.
    package func wait(count: Int, file: StaticString = #fileID, line: Int = #line) async -> Bool {
        await waitOrEnd(until: { $0.count >= count }, file, line)
    }

    /// Waits until the last line has arrived, or the task is cancelled.
    package func waitForEnd(file: StaticString = #fileID, line: Int = #line) async {
        await state.wait(until: \.hasEnded, file: file, line: line)
    }

    private func waitOrEnd(until isSo: @escaping @Sendable ([String]) -> Bool, _ file: StaticString, _ line: Int) async -> Bool {
        await state.wait(until: { isSo($0.lines) || $0.hasEnded }, file: file, line: line)
        return state.read { isSo($0.lines) }
    }
}
