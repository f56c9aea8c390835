import Testing
import WakuREST

/// Which failures of a node may pass.
@Suite struct NodeErrorTests {
    private func expect(_ error: NodeError, _ purposes: [NodeError.Purpose], sourceLocation: SourceLocation = #_sourceLocation) {
        for purpose in [NodeError.Purpose.publishing, .judging] {
            #expect(error.mayPass(for: purpose) == purposes.contains(purpose), "\(error), \(purpose)", sourceLocation: sourceLocation)
        }
    }

    @Test func `another try may help for three statuses below 500, and for all others from there on`() {
        for status in 400..<500 { expect(.refused(status: status, text: ""), [404, 408, 429].contains(status) ? [.publishing] : []) }
        for status in 500..<600 { expect(.refused(status: status, text: ""), [.publishing, .judging]) }
    }

    @Test func `another try may help a message if the node says so, and a judgement only if the node is away`() {
        expect(.refused(status: 400, text: "NonceLimitReached"), [.publishing])
        expect(.refused(status: 400, text: "the nonce limit is reached"), [.publishing])
        expect(.refused(status: 400, text: "Node not subscribed to topic: /waku/2/rs/16/32"), [.publishing])
        expect(.refused(status: 403, text: "Node not subscribed to topic: /waku/2/rs/16/32"), [])
        expect(.unreachable(""), [.publishing, .judging])
        expect(.unintelligible(""), [.publishing])
        expect(.tooLarge, [.publishing])
        expect(.noRelay(.starting), [.publishing, .judging])
        expect(.noRelay(.unknown), [.publishing, .judging])
        expect(.noRelay(.off), [.publishing])
    }
}
