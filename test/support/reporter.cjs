'use strict'
const { reporters, Runner } = require('mocha')

/** The usual listing, closed by one plain line that any CI can read: `N passed, N failed`. */
module.exports = class extends reporters.Spec {
  #secondTries = []

  constructor(runner, options) {
    super(runner, options)
    runner.on(Runner.constants.EVENT_TEST_RETRY, (test, error) => {
      this.#secondTries.push(`${test.fullTitle()}: ${error.message}`)
    })
  }

  epilogue() {
    super.epilogue()
    for (const told of this.#secondTries) process.stdout.write(`tried twice: ${told}\n`)
    const { passes, failures, pending } = this.stats
    const skipped = pending > 0 ? `, ${pending} skipped` : ''
    process.stdout.write(`${passes} passed, ${failures} failed${skipped}\n`)
  }
}
