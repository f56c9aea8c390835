/// The costs that the model multiplies.
package struct ModelConstants: Sendable, Equatable {
    /// The cost of each kind of request.
    package struct Request: Sendable, Equatable {
        /// Microseconds of the server's processor time, from the envelope to the reply.
        package var processorTime: Double
        /// Microseconds of the database's own processes; 0 for SQLite.
        package var databaseProcessorTime: Double
        /// The number of times that a commit waits for the disk, per request. At full load a commit has many requests, so the number is
        /// below 1.
        package var syncCount: Double
        /// Bytes of its rows, apart from the registration's.
        package var byteCount: Double

        package init(processorTime: Double, databaseProcessorTime: Double, syncCount: Double, byteCount: Double) {
            self.processorTime = processorTime
            self.databaseProcessorTime = databaseProcessorTime
            self.syncCount = syncCount
            self.byteCount = byteCount
        }
    }

    package var registration: Request
    package var query: Request
    /// A push request, until its push is in the outbox.
    package var push: Request
    /// Microseconds from the outbox until gorush's response is recorded, per push.
    package var deliveryTime: Double
    /// Microseconds of the database's own processes for the same work.
    package var databaseDeliveryTime: Double
    /// Microseconds of sealing an echo.
    package var echoTime: Double
    /// Microseconds of a POST of a small body.
    package var postTime: Double
    /// Bytes of a registration with its indexes.
    package var registrationByteCount: Double

    package init(
        registration: Request, query: Request, push: Request, deliveryTime: Double, databaseDeliveryTime: Double, echoTime: Double,
        postTime: Double, registrationByteCount: Double
    ) {
        self.registration = registration
        self.query = query
        self.push = push
        self.deliveryTime = deliveryTime
        self.databaseDeliveryTime = databaseDeliveryTime
        self.echoTime = echoTime
        self.postTime = postTime
        self.registrationByteCount = registrationByteCount
    }
}
