import Envelope
import Logging
import Synchronization
import Tasks
import WakuREST

/// The verdicts about a pubsub topic's holes, which `HoleCheck` makes from this node's store.
extension WakuNodeLink {
    /// Judges the holes that were listed, and tells operators which ones have lost messages.
    ///
    /// - Parameter isJudged: Whether they were judged since the last listing.
    /// - Returns: Whether they are now. A store without any row shows nothing yet.
    func judgeHoles(of topic: String, with check: inout HoleCheck, isJudged: Bool) async -> Bool {
        guard !isJudged || !check.suspicious.isEmpty else { return true }
        guard let open = try? await base.checkpoints.holes(of: topic) else { return isJudged }
        var isJudged = isJudged
        if !isJudged {
            isJudged = (try? await judge(open.holes, with: &check)) ?? false
            base.holeChecks.withLock { [check] in $0[topic, default: [:]][index] = check }
        }
        let checks = base.holeChecks.withLock { Array(($0[topic] ?? [:]).values) }
        let told = open.listed.filter { hole in
            checks.contains { $0.suspicious.contains(hole) } && !checks.contains { $0.unsuspicious.contains(hole) }
        }
        let previous = base.toldHoles.withLock { $0.updateValue(told, forKey: topic) } ?? []
        for hole in told where !previous.contains(hole) {
            base.logger.warning("messages are missing", metadata: ["topic": "\(topic)", "hole": "\(WakuTransport.text(of: hole))"])
        }
        return isJudged
    }

    private func judge(_ holes: [Hole], with check: inout HoleCheck) async throws -> Bool {
        guard !holes.isEmpty else {
            check.forget()
            return true
        }
        guard let oldest = try await node.storePage(check.oldestRow).rows.first?.timestamp else { return false }
        for hole in check.begin(holes, oldest: oldest) {
            let query = check.query(before: hole)
            check.note(try await node.storePage(query).rows.count, of: query, before: hole)
        }
        return true
    }
}
