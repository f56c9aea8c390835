/// The numbers of the model that no benchmark measures.
package struct ModelAssumptions: Sendable, Equatable {
    /// The requests that concern a device, per day.
    package struct Activity: Sendable, Equatable {
        package var name: String
        package var pushes: Double
        package var queries: Double
        package var registrations: Double

        package init(_ name: String, pushes: Double, queries: Double, registrations: Double) {
            self.name = name
            self.pushes = pushes
            self.queries = queries
            self.registrations = registrations
        }

        package static let quiet = Activity("quiet", pushes: 10, queries: 1, registrations: 0.3)
        package static let busy = Activity("busy", pushes: 40, queries: 3, registrations: 1)
    }

    /// The load at the busiest time ÷ the mean of the day.
    package var peakFactor = 3.0
    /// Echoes of each reply to a query or push request.
    package var echoCount = 2.0
    /// Messages of clients that a push stands for: the chat message and its acknowledgement.
    package var clientMessageCount = 2.0
    /// Bytes of a message in the network.
    package var messageByteCount = 2_000.0
    /// The number of times that a node receives, and sends, each message of its shard.
    package var wakuAmplification = 10.0
    /// The maximum of megabytes a second that a node receives, and that it sends.
    package var nodeMegabytes = 30.0
    /// Microseconds of the server's processor time for reading a message of the shard from the node.
    package var readingTime = 20.0
    /// Cores of a machine.
    package var machineCoreCount = 16.0
    /// The maximum of requests a second to one database.
    package var databaseRate: Double
    /// The maximum disk usage of one database, in bytes.
    package var databaseByteCount = 500e9
    /// The size of tables and indexes ÷ that of their live rows.
    package var deadRowFactor: Double
    /// Hours for which messages and finished pushes stay in the database.
    package var retentionHours = 48.0
    /// The fraction of pushes that go to FCM.
    package var androidFraction = 0.6
    /// The maximum of pushes a second that FCM accepts for a project.
    package var fcmQuota = 10_000.0
    /// Pushes a second of a gorush on one core.
    package var gorushRate = 5_500.0

    package init(_ store: StoreKind) {
        databaseRate = store == .sqlite ? 25_000 : 50_000
        // Autovacuum begins when a fifth of the rows are dead (autovacuum_vacuum_scale_factor), and a dead row still has its envelope.
        deadRowFactor = store == .sqlite ? 1 : 1.5
    }
}
