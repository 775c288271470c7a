import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { API_VERSION } from '../../../core/hosting/locate.ts'
import { apiReport } from '../../support/api-report.ts'

const REPORT = new URL('./api.txt', import.meta.url)

/**
 * Version 1 is a promise to plugin authors. If this test fails, the API has changed: additions must
 * be optional, and existing members must neither disappear nor change their meaning.
 * `node test/support/api-report.ts` regenerates the report: review its changes.
 */
describe('the plugin API, version 1', () => {
  it('is unchanged since it was frozen', () => {
    expect(API_VERSION).to.equal(1)
    expect(apiReport()).to.equal(readFileSync(REPORT, 'utf8'))
  })
})
