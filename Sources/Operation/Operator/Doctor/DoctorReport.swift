package import PushClient
import PushClientREST

/// What a ``ServerCheckup`` and a ``Checkup`` have found, and what the server says about its readiness.
package struct DoctorReport: Report {
    private struct Step: Encodable {
        let name: String
        let isDone: Bool
        let milliseconds: Int64
        let problem: String?
        let advice: String?
    }

    private let isHealthy: Bool
    /// Whether the checkup has read from the admin endpoints whether accepted pushes are delivered.
    private let isDeliveryChecked: Bool
    /// The newest automatic backup's age in seconds, or nil if none exists, or the admin endpoints are unknown.
    private let newestBackupSeconds: Int?
    private let warnings: [String]
    private let checks: [ServerCheck]
    private let steps: [Step]
    package let failure: Failure?

    /// Empty, because the initializer reports each step.
    package var lines: [String] { [] }

    /// Runs the checkup.
    ///
    /// - Parameters:
    ///   - endpoints: The server's admin endpoints.
    ///   - server: Checks what is around the server.
    ///   - isAdminNamed: Whether the operator has named them. If not, they are read if they belong to this server.
    ///   - report: Receives a line after each step.
    package init(
        of checkup: Checkup, and server: ServerCheckup, at key: PublicKey, through access: NodeAccess, admin endpoints: AdminEndpoints,
        isAdminNamed: Bool, reporting report: (String) -> Void
    ) async {
        checks = await server.run(endpoints)
        for line in checks.flatMap(\.lines) { report(line) }
        var steps: [Checkup.Step] = []
        // The endpoints are checked first: with a wrong key, the checkup would only time out, a minute later.
        let start = ContinuousClock.now
        let before = await endpoints.delivery(of: key)
        if isAdminNamed, !before.isKnown, let problem = before.problem(isAsked: true) {
            steps.append(.init(kind: .admin, duration: ContinuousClock.now - start, problem: problem))
            report(steps[0].line)
        } else {
            if case .otherServer(let reason) = before { report("warning             \(reason)") }
            steps = await checkup.run(outcome: before.isKnown ? { await endpoints.outcome(of: $0, on: checkup.platform) } : nil) {
                report($0.line)
            }
        }
        var delivery = AdminEndpoints.Delivery.unknown("no push was accepted")
        if before.isKnown || steps.contains(where: { $0.kind == .push && $0.problem == nil }) {
            let start = ContinuousClock.now
            delivery = await endpoints.delivery(of: key)
            if let problem = delivery.problem(isAsked: isAdminNamed) {
                steps.append(.init(kind: .delivery, duration: ContinuousClock.now - start, problem: problem))
            } else if delivery.isKnown {
                steps.append(.init(kind: .delivery, duration: ContinuousClock.now - start, problem: nil))
            }
            if let step = steps.last, step.kind == .delivery { report(step.line) }
            for line in delivery.notes { report(line) }
        }
        isDeliveryChecked = delivery.isKnown
        newestBackupSeconds = delivery.isKnown ? await endpoints.newestBackupSeconds() : nil
        if let newestBackupSeconds { report("backup              the newest one is \(Self.age(newestBackupSeconds)) old") }
        let ownWarnings = [checkup.clockWarning, access.reception == .relayCache ? Self.ownNodeWarning : nil].compactMap { $0 }
        for warning in ownWarnings { report("warning             \(warning)") }
        warnings = delivery.warnings + ownWarnings
        isHealthy = steps.allSatisfy { $0.problem == nil } && checks.allSatisfy { $0.state != .failed }
        self.steps = steps.map { step in
            Step(
                name: step.kind.rawValue, isDone: step.problem == nil, milliseconds: step.milliseconds,
                problem: step.problem?.description, advice: step.problem == nil ? nil : step.advice(through: access))
        }
        failure = steps.first { $0.problem != nil }.map { $0.failure(through: access) } ?? checks.lazy.compactMap(\.failure).first
    }

    /// Warns what `RESTTransport.Reception.relayCache` does to a server that reads the same node.
    private static let ownNodeWarning = """
        --own-node empties the node's relay cache: a server that reads this node loses messages, and warns of another reader
        """

    private static func age(_ seconds: Int) -> String {
        seconds < 7_200 ? "\(seconds / 60) min" : "\(seconds / 3_600) h"
    }

    private enum CodingKeys: CodingKey {
        case isHealthy, isDeliveryChecked, newestBackupSeconds, warnings, checks, steps
    }
}

extension Checkup.Step {
    fileprivate func failure(through access: NodeAccess) -> Failure {
        let advice = advice(through: access)
        if case .failed(let error) = problem {
            var failure = Failure(error, node: access, silence: "")
            if failure.kind != .failed {
                // The message of some failures already ends with the advice.
                if !failure.message.hasSuffix(advice) { failure.message += "\n" + advice }
                return failure
            }
        }
        return .failed("\(problem?.description ?? "")\n\(advice)")
    }
}
