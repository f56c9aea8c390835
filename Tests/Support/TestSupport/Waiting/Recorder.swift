/// What a stub saw, in order; a test can wait until there is enough of it.
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

    /// Returns when there are at least so many elements, or the task is cancelled.
    ///
    /// - Returns: all there are by then.
    @discardableResult
    package func wait(for count: Int) async -> [Element] {
        await elements.wait { $0.count >= count }
        return all
    }

    /// Returns when there are more than so many elements, or the task is cancelled.
    ///
    /// - Returns: those beyond, and no others: whoever holds all makes the next to be added copy all.
    package func next(after count: Int) async -> [Element] {
        await elements.wait { $0.count > count }
        return elements.read { Array($0.dropFirst(count)) }
    }

    /// Returns when the elements so far are as wanted, or the task is cancelled.
    ///
    /// - Returns: false in the latter case.
    @discardableResult
    package func wait(until isSo: @escaping @Sendable ([Element]) -> Bool) async -> Bool {
        await elements.wait(until: isSo)
    }
}
