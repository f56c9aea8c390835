import Delivery
import Engine
import Envelope
import Observation
import PushProtocol
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

    /// Returns the text of `GET /metrics`, read anew at each call.
    func metricsText(
        _ conditions: ServerConditions, _ engine: Engine, _ transport: any MessageTransport, _ delivery: DeliveryLoop?, _ canary: Canary?
    ) -> @Sendable () async -> String {
        let gauges = Gauges(
            engine: engine, waku: transport as? WakuTransport, openFileLimit: openFileLimit, registry: metrics,
            healthIssues: { conditions.issues.map(\.text) })
        let storeGauges = StoreGauges(store: store, storage: settings.storage, registry: metrics)
        BuildMetrics.set(in: metrics, publicKey: identityBody.publicKey, serverName: settings.serverName)
        return {
            await gauges.refresh()
            process.refresh()
            await storeGauges.refresh(at: wallClock.now())
            await delivery?.refreshMetrics()
            canary?.refreshMetrics()
            return metrics.render()
        }
    }

    func status(
        _ readiness: Readiness, _ runbook: RunbookPage?, _ engine: Engine, _ transport: any MessageTransport,
        _ delivery: DeliveryLoop?, _ canary: Canary?, _ backup: AutomaticBackup?
    ) -> StatusSampler {
        let sources = StatusSources(
            readiness: { readiness.observation }, figures: store.figures,
            engine: {
                .init(
                    messagesInFlight: engine.inFlightCount, waitingReplies: engine.waitingReplyCount,
                    topicDirectoryEntries: engine.queryTopicCount)
            },
            canary: {
                canary.map {
                    .init(
                        ageSeconds: Int($0.lastSuccessAge.components.seconds), hasSucceeded: $0.hasSucceeded, isLate: !$0.warnings.isEmpty,
                        problem: $0.problem)
                }
            },
            replyTimes: { [metrics] in
                let (bounds, counts) = metrics.counts(of: EngineMetrics.replySeconds)
                return ReplyTimes(bounds: bounds, counts: counts)
            },
            nodes: { (transport as? WakuTransport)?.nodeReports ?? [] }, routes: { delivery?.reports ?? [] },
            files: { [storage = settings.storage] in .init(storage) }, backupAge: { backup?.newestAge },
            sealing: { [store] in try? await store.sealingProgress() },
            members: { [cluster = store.cluster] in (try? await cluster?.members()).map(StatusSnapshot.Member.servers) },
            finding: { [settings, publicKey = identity.publicKey] in
                .init(
                    $0, pushLifetime: (settings.delivery?.lifetime ?? ProtocolLimits.pushLifetime).settingText,
                    shell: OperatorShell(settings, readiness, publicKey: publicKey), runbook: runbook)
            })
        return StatusSampler(
            sources, serverName: settings.serverName, publicKey: identityBody.publicKey,
            file: StatusHistoryFile(path: settings.statusHistoryFile), time: sinceStart, wallClock: wallClock)
    }
}
