import CoreMetrics
import Logging
import StatusCrypto
import Synchronization

/// What gorush has to show with its feedback. gorush says nothing of an answer that it does not like, so a wrong secret is told of here:
/// without feedback nobody hears of pushes that failed.
final class FeedbackSecret: Sendable {
    private let secret: [UInt8]?
    private let logger: Logger
    private let refused = Counter(label: "pushserver_gorush_feedback_refused_total")
    private let wasRefused = Atomic<Bool>(false)

    /// - Parameter secret: nil: nothing need be shown.
    init(_ secret: String?, logger: Logger) {
        self.secret = secret.map { Array($0.utf8) }
        self.logger = logger
    }

    /// - Parameter shown: nil: nothing was.
    func isShown(by shown: String?) -> Bool {
        guard let secret else { return true }
        let isRight = ConstantTime.equal(Array((shown ?? "").utf8), secret)
        if !isRight { refused.increment() }
        // Once, and once more after it was right.
        let isNew = !wasRefused.exchange(!isRight, ordering: .relaxed)
        if !isRight, isNew {
            logger.warning(
                "gorush's feedback is refused: core.feedback_header must be X-Feedback-Secret with gorush.feedbackSecret",
                metadata: ["shown": shown == nil ? "nothing" : "another one"])
        }
        return isRight
    }
}
