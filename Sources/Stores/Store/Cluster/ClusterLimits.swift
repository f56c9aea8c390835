/// The times by which the servers of a cluster go.
package enum ClusterLimits {
    /// Between two calls of ``ClusterStore/takePart()``. Clients wait 3 s for a reply.
    package static let interval = Duration.milliseconds(500)
    /// A shorter lease would fence servers whose database restarts.
    package static let lease = Duration.seconds(15)
    /// Ten renewals, which fail or hang for a reason that does not pass by itself.
    package static let renewalDelay = Duration.seconds(5)
    /// How long after its last renewal a member counts as living when an owner is chosen.
    package static let livingTime = Duration.seconds(3)
    /// Any member takes a recorded message that its owner has not taken within this time.
    package static let takingTime = Duration.seconds(1)
    /// Any member takes a segment that was passed to another member but not taken within this time. By then that member does not count as
    /// living, so the segment is not passed back.
    package static let passingTime = livingTime + takingTime
    /// A lease must last this long before a push is posted, so that a short pause between the check and the request does not outlast it.
    package static let postingTime = Duration.seconds(5)
    /// A fenced member's number is kept this long, because a frozen process may still write rows under it.
    package static let fencedMemory = Duration.seconds(7 * 86_400)
}
