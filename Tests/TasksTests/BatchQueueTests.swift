import Tasks
import TestSupport
import Testing
import Workers

@Suite(.safetyNet) struct BatchQueueTests {
    @Test func `a batch has all waiting elements in order, up to the limit`() async {
        let queue = BatchQueue<Int>()
        queue.send(1)
        queue.send([2, 3, 4, 5])
        queue.send([])
        #expect(await queue.next(maximumCount: 3) == [1, 2, 3])
        #expect(await queue.next(maximumCount: 3) == [4, 5])
    }

    @Test func `taking from an empty queue waits for an element`() async {
        let queue = BatchQueue<Int>()
        let taking = Task { await queue.next(maximumCount: 10) }
        queue.send(7)
        #expect(await taking.value == [7])
    }

    @Test func `several takers get each element once`() async {
        let queue = BatchQueue<Int>()
        let taken = await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var taken: [Int] = []
                    while let batch = await queue.next(maximumCount: 3) { taken += batch }
                    return taken
                }
            }
            for number in 0..<1_000 { queue.send(number) }
            queue.finish()
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(taken.sorted() == Array(0..<1_000))
    }

    @Test func `a finished queue returns the remaining elements, and ignores new ones`() async {
        let queue = BatchQueue<Int>()
        let waiting = Task { await queue.next(maximumCount: 1) }
        queue.send(0)
        #expect(await waiting.value == [0])
        queue.send(1)
        queue.finish()
        queue.send(2)
        #expect(await queue.next(maximumCount: 10) == [1])
        #expect(await queue.next(maximumCount: 10) == nil)
    }

    @Test func `finishing ends all waits`() async {
        let queue = BatchQueue<Int>()
        let waiting = (0..<3).map { _ in Task { await queue.next(maximumCount: 1) } }
        queue.finish()
        for task in waiting { #expect(await task.value == nil) }
    }

    @Test func `a cancelled wait takes no element`() async {
        let queue = BatchQueue<Int>()
        let waiting = Task { await queue.next(maximumCount: 1) }
        waiting.cancel()
        #expect(await waiting.value == nil)
        queue.send(1)
        #expect(await queue.next(maximumCount: 1) == [1])
    }
}
