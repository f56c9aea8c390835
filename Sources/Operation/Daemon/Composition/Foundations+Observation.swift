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
    func metricsText(
        _ conditions: ServerConditions, _ observer: StoreObserver, _ engine: Engine, _ transport: any MessageTransport,
        _ delivery: DeliveryLoop?, _ canary: Canary?
    ) -> @Sendable () -> String {
        let gauges = Gauges(
            engine: engine, waku: transport as? WakuTransport, openFileLimit: openFileLimit, registry: metrics,
            issues: { conditions.issues })
        let storeGauges = StoreGauges(registry: metrics, routes: delivery?.reports.map(\.name) ?? [])
        BuildMetrics.set(in: metrics, publicKey: identityBody.publicKey, serverName: settings.serverName)
        return {
            gauges.refresh()
            process.refresh()
            storeGauges.set(observer.newest, age: observer.age)
            storeGauges.set(.init(settings.storage))
            delivery?.refreshMetrics()
            canary?.refreshMetrics()
            return metrics.render()
        }
    }

    func status(
        _ readiness: Readiness, _ runbook: RunbookPage?, _ observer: StoreObserver, _ engine: Engine, _ transport: any MessageTransport,
        _ delivery: DeliveryLoop?, _ canary: Canary?, _ backup: AutomaticBackup?
    ) -> StatusSampler {
        let sources = StatusSources(
            readiness: { readiness.observation }, store: { (observer.newest, observer.age) },
            engine: {
                .init(
                    messagesInFlight: engine.inFlightCount, waitingReplies: engine.waitingReplyCount,
                    topicDirectoryEntries: engine.queryTopicCount)
            },
            canary: {
                canary.map {
                    .init(
                        ageSeconds: Int($0.lastSuccessAge.components.seconds), hasSucceeded: $0.hasSucceeded, isLate: $0.isLate,
                        problem: $0.problem)
                }
            },
            replyTimes: { [metrics] in
                let (bounds, counts) = metrics.counts(of: EngineMetrics.replySeconds)
                return ReplyTimes(bounds: bounds, counts: counts)
            },
            nodes: { (transport as? WakuTransport)?.nodeReports ?? [] }, routes: { delivery?.reports ?? [] },
            files: { [storage = settings.storage] in .init(storage) }, backupAge: { backup?.newestAge },
            finding: { [settings, publicKey = identity.publicKey] in
                .init(
                    $0, pushLifetime: (settings.delivery?.lifetime ?? ProtocolLimits.pushLifetime).settingText,
                    shell: OperatorShell(settings, readiness, publicKey: publicKey), runbook: runbook)
            })
        return StatusSampler(
            sources, serverName: settings.serverName, publicKey: identityBody.publicKey,
            file: StatusHistoryFile(
                path: settings.statusHistoryFile, owner: "\(identityBody.publicKey) \(settings.storage.name)"), time: sinceStart,
            wallClock: wallClock)
    }
}
