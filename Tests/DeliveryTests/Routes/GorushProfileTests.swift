import Store
import TestSupport
import Testing

@testable import Delivery

/// A route's knowledge of its gorush.
@Suite(.safetyNet) struct GorushProfileTests {
    private func profile(
        _ pushes: DeliveryConfiguration.Route.Pushes = .platform(.ios), routes: Int = 2, trustsSyncMode: Bool = false
    ) -> GorushProfile {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://gorush"))
        configuration.trustsSyncMode = trustsSyncMode
        return GorushProfile(route: .init(name: "route", pushes: pushes), configuration: configuration, routesOfEndpoint: routes)
    }

    private func instance(_ yaml: String) -> GorushClient.Probe {
        GorushInstance(settings: yaml).map(GorushClient.Probe.instance) ?? .unreachable(.init())
    }

    @Test func `nothing is posted before gorush was seen to be fit, nor after a connection broke until it is seen again`() {
        var profile = profile()
        #expect(!profile.wasProbed && !profile.mayPost)
        profile.probed(instance("core: {sync: true}"), at: .zero)
        #expect(profile.wasProbed && profile.mayPost && profile.isUsable)
        profile.connectionBroke()
        #expect(!profile.mayPost)
        profile.probed(.unreachable(.init()), at: .seconds(1))
        #expect(
            profile.mayPost && !profile.isUsable
                && profile.issue(hasProvenDevices: false, isPaused: false, at: .seconds(1)) == "gorush is not reachable")
        profile.worked(at: .seconds(2))
        #expect(profile.issue(hasProvenDevices: false, isPaused: false, at: .seconds(2)) == nil)
    }

    @Test func `a gorush that takes pushes over open connections, while new ones fail, is a warning for a minute after the last push`() {
        var profile = profile()
        profile.probed(instance("core: {sync: true, worker_num: 96}"), at: .zero)
        let told = "gorush takes pushes over open connections only, and new ones fail: gorush is not reachable"
        for second in 1...9 {
            profile.worked(at: .seconds(second))
            profile.probed(.unreachable(.init()), at: .seconds(second))
            #expect(profile.issue(hasProvenDevices: true, isPaused: false, at: .seconds(second)) == nil)
            #expect(profile.warnings(isPaused: false, at: .seconds(second)) == [told])
        }
        for (isPaused, second) in [(true, 9), (false, 69)] {
            #expect(profile.issue(hasProvenDevices: true, isPaused: isPaused, at: .seconds(second)) == "gorush is not reachable")
            #expect(profile.warnings(isPaused: isPaused, at: .seconds(second)) == [])
        }
    }

    @Test func `a queue of gorush that is shorter than its workers limits what is posted at a time, and is a warning`() {
        var profile = profile(routes: 1)
        profile.probed(instance("core: {sync: true, worker_num: 48, queue_num: 4}"), at: .zero)
        #expect(profile.workerShare(members: 1) == 4)
        #expect(profile.warnings == ["core.queue_num is 4: set it to 8192, or pushes wait although workers are free"])
    }

    @Test func `an unreachable gorush keeps its last mode`() {
        var profile = profile()
        profile.probed(instance("core: {sync: false}"), at: .zero)
        profile.probed(.unreachable(.init()), at: .seconds(1))
        #expect(!profile.mayPost)
        profile.probed(instance("core: {sync: true}"), at: .seconds(2))
        #expect(profile.mayPost)
    }

    @Test func `a gorush hides its configuration after three reads over 15 s without one`() {
        var profile = profile()
        profile.probed(instance("core: {sync: true}"), at: .zero)
        for second in [1, 2, 3, 15] {
            profile.probed(.silent, at: .seconds(second))
            #expect(profile.mayPost && profile.issue(hasProvenDevices: true, isPaused: false, at: .seconds(second)) == nil)
        }
        profile.probed(.silent, at: .seconds(16))
        #expect(!profile.mayPost && profile.issue(hasProvenDevices: false, isPaused: false, at: .seconds(16)) == GorushProfile.hiddenIssue)
        profile.probed(instance("core: {sync: true}"), at: .seconds(17))
        #expect(profile.mayPost && profile.issue(hasProvenDevices: false, isPaused: false, at: .seconds(17)) == nil)
    }

    @Test(arguments: [true, false])
    func `a gorush that never shows its configuration is used only if a setting trusts it`(isTrusted: Bool) {
        var profile = profile(trustsSyncMode: isTrusted)
        profile.probed(.silent, at: .zero)
        #expect(profile.mayPost == isTrusted)
        #expect(profile.warnings == (isTrusted ? [GorushProfile.trustWarning] : []))
    }

    @Test(arguments: [
        ("{enabled: true, production: false}", true), ("{enabled: true, production: true}", false), ("{enabled: false}", false),
    ])
    func `another environment of Apple's contradicts only a route of iOS`(ios: String, contradicts: Bool) {
        for (pushes, isMeant) in [(DeliveryConfiguration.Route.Pushes.platform(.ios), true), (.platform(.android), false)] {
            var profile = profile(pushes)
            profile.probed(instance("core: {sync: true}\nios: \(ios)"), at: .zero)
            #expect(profile.contradictsEnvironment == (contradicts && isMeant))
        }
    }

    @Test func `the expected number of workers is that of Config/gorush.yml`() {
        for (count, isEnough) in [(95, false), (96, true)] {
            var profile = profile()
            profile.probed(instance("core: {sync: true, worker_num: \(count)}"), at: .zero)
            #expect(profile.warnings.isEmpty == isEnough && profile.warnings.allSatisfy { $0.contains("set it to 96 or more") })
        }
    }

    @Test(arguments: [(96, 2, 1, 48), (96, 2, 2, 24), (1, 2, 3, 1), (0, 1, 1, 32), (9_999, 1, 1, 256)])
    func `routes and servers share gorush's workers`(workers: Int, routes: Int, members: Int, share: Int) {
        var profile = profile(routes: routes)
        profile.probed(instance("core: {sync: true, worker_num: \(workers)}"), at: .zero)
        #expect(profile.workerShare(members: members) == share)
    }

    @Test(
        arguments: [
            (DeliveryConfiguration.Route.Pushes.platform(.ios), "ios.enabled"), (.apnTopics(["a"]), "ios.enabled"),
            (.platform(.android), "android.enabled"),
        ])
    func `a disabled platform is a warning once it is used, and a fault if devices wait that have worked`(
        pushes: DeliveryConfiguration.Route.Pushes, word: String
    ) {
        var profile = profile(pushes)
        profile.probed(instance("core: {sync: true}\nios: {enabled: false}\nandroid: {enabled: false}"), at: .zero)
        #expect(profile.warnings == [] && !profile.mayPost)
        profile.used()
        #expect(profile.warnings.count == 1 && profile.warnings[0].contains(word))
        #expect(profile.issue(hasProvenDevices: false, isPaused: false, at: .zero) == nil)
        #expect(profile.issue(hasProvenDevices: true, isPaused: false, at: .zero)?.contains(word) == true)
    }
}
