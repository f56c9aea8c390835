// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "pushserver") }

// A package as an app's would be: it sees what is public, and nothing else.
let package = Package(
    name: "Examples",
    // Without traits an app resolves swift-log alone. One that links PushClientFileState says `traits: ["FileState"]`.
    dependencies: [.package(name: "pushserver", path: "..", traits: [])],
    targets: [
        // The shortest program.
        .executableTarget(
            name: "Quickstart", dependencies: [product("PushClient"), product("PushClientREST")], swiftSettings: settings),
        // An app on a node and a storage of its own.
        .executableTarget(name: "Messenger", dependencies: [product("PushClient")], swiftSettings: settings),
        // The program of the tutorial.
        .executableTarget(
            name: "Tutorial", dependencies: [product("PushClient"), product("PushClientREST")], swiftSettings: settings),
        // The code that the guides show (Scripts/check snippets).
        .target(
            name: "Snippets",
            dependencies: [
                product("PushClient"), product("PushClientREST"), product("PushPayload"), product("PushClientTesting"),
            ],
            swiftSettings: settings),
    ]
)
