import Envelope
import Foundation
import Logging
import Observation
import ServerFiles
import Settings
import StatusCrypto

/// What a server's parts are made from. Extensions make the parts.
struct Foundations: Sendable {
    let settings: Settings
    let identity: PrivateKey
    let store: any ServerStore
    let adminToken: AdminToken
    let openFileLimit: Int
    let metrics: PrometheusRegistry
    let process: ProcessMetrics
    let readyFile: ReadyFile?
    let serviceManager: ServiceManager?
    let time: ClockKeeper
    let lostTimes: LostTimes
    /// The time that starts with the server.
    let sinceStart: SteadyTime
    let logger: Logger
    let runbook = RunbookPage()

    var clock: ContinuousClock { ContinuousClock() }
    var wallClock: WallClock { time.wallClock }
    var workerCount: Int { ProcessInfo.processInfo.activeProcessorCount }
    var limits: ShutdownLimits { ShutdownLimits(gracePeriod: settings.shutdownGracePeriod) }
    var connections: ConnectionBudget { settings.connectionBudget(openFileLimit: openFileLimit) }
    var identityBody: IdentityBody { IdentityBody(identity.publicKey, keyFile: settings.identityKeyFile) }
}
