import Envelope
import PushProtocol
import Store
import Testing

struct BudgetTests {
    private static let maximum = ProtocolLimits.maximumAnswerByteCount

    @Test func `a response contains the lists that fit into a key's credits, in order`() {
        var budget = QueryBudget()
        #expect(budget.choose(among: [(1, 60), (2, 50), (3, 40), (4, 0)], credits: 100) == [1, 3, 4])
        #expect(budget.choose(among: [(5, 1)], credits: 0) == [])
        #expect(budget.choose(among: [(6, 0)], credits: 0) == [6])
    }

    @Test func `a response that is full has no capacity for another key`() {
        var budget = QueryBudget()
        #expect(budget.choose(among: [(1, Self.maximum)], credits: .max) == [1])
        // The limit is for the start of a key.
        #expect(budget.choose(among: [(2, 1), (3, Self.maximum)], credits: .max) == [2])
        #expect(budget.choose(among: [(4, 0)], credits: .max) == nil)
    }

    @Test(arguments: [(0, 10), (9, 1), (10, 0), (11, 0)]) func `ten devices may die in an hour`(deaths: Int, remaining: Int) {
        let budget = DeathBudget(at: start)
        #expect(budget.remaining(after: deaths) == remaining)
        #expect(budget.start == start.advanced(by: .seconds(-3_600)))
    }
}
