'use strict'
const { writeFileSync } = require('node:fs')
const { reporters, Runner } = require('mocha')

/**
 * The usual listing, closed by one plain line that any CI can read: `N passed, N failed`. With
 * `--reporter-option outcomes=FILE` the line is left to `run.ts`, and FILE gets the outcomes as
 * JSON: `{ file?, title, state: 'passed' | 'failed' | 'pending', message? }[]`.
 */
module.exports = class extends reporters.Spec {
  #outcomes = []
  #path

  constructor(runner, options) {
    super(runner, options)
    this.#path = options.reporterOptions?.outcomes
    const { EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_TEST_PENDING } = Runner.constants
    const add = (runnable, state, message) => {
      this.#outcomes.push({ file: runnable.file, title: runnable.fullTitle(), state, message })
    }
    runner.on(EVENT_TEST_PASS, (test) => add(test, 'passed'))
    runner.on(EVENT_TEST_PENDING, (test) => add(test, 'pending'))
    runner.on(EVENT_TEST_FAIL, (runnable, error) => add(runnable, 'failed', error.message))
  }

  epilogue() {
    super.epilogue()
    if (this.#path) return writeFileSync(this.#path, JSON.stringify(this.#outcomes))
    const { passes, failures, pending } = this.stats
    const skipped = pending > 0 ? `, ${pending} skipped` : ''
    process.stdout.write(`${passes} passed, ${failures} failed${skipped}\n`)
  }
}
