import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

describe('npm run demo', () => {
  it('plays the whole story, balances its ledger and exits', async () => {
    const home = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    try {
      const run = promisify(execFile)(process.execPath, ['server/main.ts', 'demo', '--json'], {
        env: { PATH: process.env['PATH'], HUB_DATA_DIR: home },
      })
      const { stdout } = await run
      expect(stdout).to.include('Everything is as it should be')
      const summary = JSON.parse(stdout.trim().split('\n').at(-1)!)
      expect(summary).to.include({ ok: true, trial_balance: 0, holds_open: 0 })
      const booked = Number(/income:services:analysis +-([\d.]+)/.exec(stdout)?.[1])
      const [, calls, price] = /(\d+) calls +([\d.]+) USD each/.exec(stdout) ?? []
      expect(booked, 'the output matches the ledger').to.equal(Number(calls) * Number(price))
    } finally {
      await rm(home, { recursive: true })
    }
  })
})
