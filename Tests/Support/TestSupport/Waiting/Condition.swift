import Tasks

/// A changing value. Tests wait for a state of the value, not for a time.
package final class Condition<Value: Sendable>: Sendable {
    /// As much of a value as the message of a test that hangs shows.
    private static var longestText: Int { 1_000 }

    private let monitor: Monitor<Value>

    package init(_ value: Value) {
        monitor = Monitor(value)
    }

    package var value: Value { monitor.read { $0 } }

    /// Reads the value in place. A caller that keeps a copy makes the next change copy the whole value.
    package func read<Result: Sendable>(_ body: (Value) -> Result) -> Result { monitor.read(body) }

    @discardableResult
    package func change<Result: Sendable>(_ change: (inout Value) -> Result) -> Result { monitor.update(change) }

    /// Waits until the value meets the condition. The value may have changed again before the task continues.
    ///
    /// - Returns: false if the task was cancelled first.
    @discardableResult
    package func wait(
        until isMet: @escaping @Sendable (Value) -> Bool, file: StaticString = #fileID, line: Int = #line
    ) async -> Bool {
        if read(isMet) { return true }
        return await OpenWaits.during("\(file):\(line)", seeing: { "\(String(describing: self.value).prefix(Self.longestText))" }) {
            await monitor.wait(for: { isMet($0) ? true : nil }) ?? false
        }
    }
}
