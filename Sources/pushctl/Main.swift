import ArgumentParser
@main struct Main: ParsableCommand {}
