import Engine
import Envelope
import Observation
import Settings
import Store

extension Foundations {
    func admin(
        _ parts: ServerParts, _ conditions: ServerConditions, _ readiness: Readiness, _ status: StatusSampler
    ) -> ListeningService {
        let content = AdminServer.Content(
            readiness: { [sinceStart, wallClock] in
                ReadinessBody(readiness.observe()) { wallClock.now().advanced(by: $0 - sinceStart.elapsed()) }
            },
            metrics: metricsText(parts, conditions),
            identityJSON: identityBody.json, status: status.snapshot, runbook: runbook?.html,
            progress: { [store] key in try await parts.observer.ask { try await store.progress(ofPush: key) } },
            restoreDeadTokens: { ids in
                let restored = try await store.restoreDeadRegistrations(ids, at: wallClock.now())
                parts.directory.add(restored)
                return restored.count
            },
            drain: Drain.begin, token: adminToken, allowedHosts: settings.adminAllowedHosts)
        let server = AdminServer(
            address: settings.adminListen, maximumConnectionCount: connections.admin, content: content, logger: logger,
            onListening: { readiness.adminListens(on: $0) })
        return ListeningService(server, setting: "admin.listen", address: settings.adminListen)
    }
}
