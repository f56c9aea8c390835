/// The kinds of nodes, as far as publishing differs.
package enum NodeKind: Sendable, CaseIterable {
    /// nwaku and its successors.
    case nwaku
    case goWaku

    /// - Parameter answer: The response body of any successful command: `OK` or `true` (WAKU_REST.md §0).
    init(answer: [UInt8]) {
        self = answer.starts(with: "true".utf8) ? .goWaku : .nwaku
    }

    /// The maximum number of message POSTs in flight at the node (WAKU_REST.md §1.2).
    package var maximumPostsInFlight: Int {
        switch self {
        case .nwaku: 1
        case .goWaku: 4
        }
    }
}
