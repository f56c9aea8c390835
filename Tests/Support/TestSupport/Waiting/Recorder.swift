/// The observations of a stub, in order. A test can wait until there are enough.
package final class Recorder<Element: Sendable>: Sendable {
    private let elements = Condition<[Element]>([])

    package init() {}

    package var all: [Element] { elements.value }

    package func append(contentsOf elements: some Sequence<Element>) {
        self.elements.change { $0.append(contentsOf: elements) }
    }

    package func append(_ element: Element) {
        elements.change { $0.append(element) }
    }

    /// Waits until there are at least `count` elements, or the task is cancelled.
    ///
    /// - Returns: All elements at that time.
    @discardableResult
    package func wait(for count: Int, file: StaticString = #fileID, line: Int = #line) async -> [Element] {
        await elements.wait(until: { $0.count >= count }, file: file, line: line)
        return all
    }

    /// Waits until there are more than `count` elements, or the task is cancelled.
    ///
    /// - Returns: The elements beyond `count` only. A copy of all would make the next addition copy all.
    package func next(after count: Int, file: StaticString = #fileID, line: Int = #line) async -> [Element] {
        await elements.wait(until: { $0.count > count }, file: file, line: line)
        return elements.read { Array($0.dropFirst(count)) }
    }

    /// Waits until the elements meet a condition, or the task is cancelled.
    ///
    /// - Returns: false if the task was cancelled.
    @discardableResult
    package func wait(
        until isSo: @escaping @Sendable ([Element]) -> Bool, file: StaticString = #fileID, line: Int = #line
    ) async -> Bool {
        await elements.wait(until: isSo, file: file, line: line)
    }
}
