import Delivery
import Engine
import Envelope
import Observation
import PushProtocol
import ServerFiles
import Settings
import StatusCrypto
import Store
import Transport

extension Foundations {
    func readiness(_ conditions: ServerConditions) -> Readiness {
        Readiness(
            relayCount: settings.relayAddresses.count, hasGateways: settings.gateways != nil, publicKey: identityBody.publicKey,
            readyFile: readyFile, serviceManager: serviceManager, time: sinceStart, logger: logger, issues: { conditions.issues },
            warnings: { conditions.warnings })
    }

    func observer() async throws -> StoreObserver {
        try await StoreObserver(time: sinceStart) { [store, wallClock] in try await StoreReading(store, wallClock: wallClock) }
    }

    /// Returns the text of `GET /metrics`. Only what comes from the store was read before the call.
    func metricsText(_ parts: ServerParts, _ conditions: ServerConditions) -> @Sendable () -> String {
        let gauges = Gauges(
            engine: parts.engine, waku: parts.transport as? WakuTransport, openFileLimit: openFileLimit, registry: metrics,
            issues: { conditions.issues })
        let storeGauges = StoreGauges(registry: metrics, routes: parts.delivery?.reports.map(\.name) ?? [])
        BuildMetrics.set(in: metrics, publicKey: identityBody.publicKey, serverName: settings.serverName)
        return {
            gauges.refresh()
            process.refresh()
            storeGauges.set(parts.observer.newest, age: parts.observer.age)
            storeGauges.set(.init(settings.storage))
            parts.delivery?.refreshMetrics()
            parts.canary?.refreshMetrics()
            return metrics.render()
        }
    }

    func status(_ parts: ServerParts, _ readiness: Readiness) -> StatusSampler {
        var sources = StatusSources { [settings, runbook, publicKey = identity.publicKey] in
            .init(
                $0, pushLifetime: (settings.delivery?.lifetime ?? ProtocolLimits.pushLifetime).settingText,
                shell: OperatorShell(settings, readiness, publicKey: publicKey), runbook: runbook)
        }
        sources.readiness = { readiness.observation }
        sources.store = { (parts.observer.newest, parts.observer.age) }
        sources.engine = {
            var figures = StatusSources.Engine()
            figures.messagesInFlight = parts.engine.inFlightCount
            figures.waitingReplies = parts.engine.waitingReplyCount
            figures.topicDirectoryEntries = parts.engine.queryTopicCount
            return figures
        }
        sources.canary = { parts.canary?.status }
        sources.replyTimes = { [metrics] in
            let (bounds, counts) = metrics.counts(of: EngineMetrics.replySeconds)
            return ReplyTimes(bounds: bounds, counts: counts)
        }
        sources.nodes = { (parts.transport as? WakuTransport)?.nodeReports ?? [] }
        sources.routes = { parts.delivery?.reports ?? [] }
        sources.files = { [storage = settings.storage] in .init(storage) }
        sources.backupAge = { parts.backup?.newestAge }
        return StatusSampler(
            sources, serverName: settings.serverName, publicKey: identityBody.publicKey,
            file: StatusHistoryFile(
                path: settings.statusHistoryFile, owner: "\(identityBody.publicKey) \(settings.storage.name)"), time: sinceStart,
            wallClock: wallClock)
    }
}
