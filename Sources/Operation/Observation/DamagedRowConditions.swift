package import Envelope
package import Store
import Synchronization

/// The conditions that follow when the running server could not read database rows.
package final class DamagedRowConditions: Sendable {
    private let store: any PushStore
    private let time: SteadyTime
    private let watch = Mutex(DamagedRowWatch())

    package init(store: any PushStore, time: SteadyTime) {
        (self.store, self.time) = (store, time)
    }

    /// The newest observation. It looks back an hour, so call this at least now and then.
    private var newest: DamagedRowWatch {
        let (count, now) = (store.damagedRowCount, time.elapsed())
        return watch.withLock { watch in
            watch.observe(count, at: now)
            return watch
        }
    }

    package var issues: [Condition] {
        let watch = newest
        guard watch.isFault else { return [] }
        return [.store("\(watch.count) rows of the database are damaged: its sealing key is wrong, or the disk is bad")]
    }

    package var warnings: [Condition] {
        let watch = newest
        guard watch.count > 0, !watch.isFault else { return [] }
        return [.store("\(watch.count) damaged rows of the database are set aside")]
    }
}
