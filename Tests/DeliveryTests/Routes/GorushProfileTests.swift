import Store
import TestSupport
import Testing

@testable import Delivery

/// A route's knowledge of its gorush.
@Suite(.safetyNet) struct GorushProfileTests {
    private func profile(_ pushes: DeliveryConfiguration.Route.Pushes = .platform(.ios), routes: Int = 2) -> GorushProfile {
        GorushProfile(
            route: .init(name: "route", pushes: pushes), configuration: .init(endpoint: .init(url: "http://gorush")),
            routesOfEndpoint: routes)
    }

    private func instance(_ yaml: String) -> GorushClient.Probe {
        GorushInstance(settings: yaml).map(GorushClient.Probe.instance) ?? .unreachable(.init())
    }

    @Test func `the profile is not current before the first probe and after a broken connection`() {
        var profile = profile()
        #expect(!profile.wasProbed && !profile.isCurrent)
        profile.probed(.silent)
        #expect(profile.wasProbed && profile.isCurrent)
        profile.connectionBroke()
        #expect(profile.wasProbed && !profile.isCurrent)
        profile.probed(.unreachable(.init()))
        #expect(profile.isCurrent && profile.issue == "gorush is not reachable")
        profile.worked()
        #expect(profile.issue == nil)
    }

    @Test func `an unreachable gorush keeps its last mode, and one that hides its configuration counts as in sync mode`() {
        var profile = profile()
        profile.probed(instance("core: {sync: false}"))
        #expect(profile.configurationFault != nil)
        profile.probed(.unreachable(.init()))
        #expect(profile.configurationFault != nil)
        profile.probed(.silent)
        #expect(profile.configurationFault == nil)
    }

    @Test(arguments: [
        ("{enabled: true, production: false}", true), ("{enabled: true, production: true}", false), ("{enabled: false}", false),
    ])
    func `another environment of Apple's contradicts only a route of iOS`(ios: String, contradicts: Bool) {
        for (pushes, isMeant) in [(DeliveryConfiguration.Route.Pushes.platform(.ios), true), (.platform(.android), false)] {
            var profile = profile(pushes)
            profile.probed(instance("core: {sync: true}\nios: \(ios)"))
            #expect(profile.contradictsEnvironment == (contradicts && isMeant))
        }
    }

    @Test func `the expected number of workers is that of Config/gorush.yml`() {
        for (count, isEnough) in [(95, false), (96, true)] {
            var profile = profile()
            profile.probed(instance("core: {sync: true, worker_num: \(count)}"))
            #expect(profile.warnings.isEmpty == isEnough && profile.warnings.allSatisfy { $0.contains("set it to 96 or more") })
        }
    }

    @Test(
        "A disabled platform is a warning once it is used",
        arguments: [
            (DeliveryConfiguration.Route.Pushes.platform(.ios), "ios.enabled"), (.apnTopics(["a"]), "ios.enabled"),
            (.platform(.android), "android.enabled"),
        ])
    func disabled(pushes: DeliveryConfiguration.Route.Pushes, word: String) {
        var profile = profile(pushes)
        profile.probed(instance("core: {sync: true}\nios: {enabled: false}\nandroid: {enabled: false}"))
        #expect(profile.warnings == [] && profile.isDisabled)
        profile.used()
        #expect(profile.warnings.count == 1 && profile.warnings[0].contains(word))
    }
}
