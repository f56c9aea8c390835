/// What a node is, as far as it matters to whoever publishes through it.
package enum NodeKind: Sendable, CaseIterable {
    /// nwaku and its successors.
    case nwaku
    case goWaku

    /// - Parameter answer: to a command that succeeded: `OK` or `true` (WAKU_REST.md §0).
    init(answer: [UInt8]) {
        self = answer.starts(with: "true".utf8) ? .goWaku : .nwaku
    }

    /// How many POSTs of messages to have under way at it (WAKU_REST.md §1.2).
    package var concurrentPostCount: Int {
        switch self {
        case .nwaku: 1
        case .goWaku: 4
        }
    }
}
