extension Clock where Duration == Swift.Duration {
    /// Returns a function that tells the time since this call.
    package func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
