import { useHub } from '../support/suite.ts'
import { flawed, gift } from './failing-services.ts'
import { tell } from './table.ts'

describe('story: refund', () => {
  const hub = useHub({ plugins: [flawed, gift] })

  it('charges nothing without a delivered response', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    1.000000
      ada  calls  flawed/works        => credits  ada 0.999000  example 0.000900
      ada  calls  flawed/throws       => 502 plugin_failed  ada 0.999000  holds 0.000000
      ada  calls  flawed/throws-nothing => 502 plugin_failed  ada 0.999000
      ada  calls  flawed/refuses      => 422 refused  ada 0.999000
      ada  calls  flawed/hangs        => 504 timeout  ada 0.999000  holds 0.000000
      ada  calls  flawed/lies         => 502 plugin_failed  ada 0.999000
      ada  calls  flawed/status-500   => 500 unknown  ada 0.999000
      ada  calls  flawed/throws ∥20   => 502 plugin_failed ×20  ada 0.999000  holds 0.000000
      ada  calls  flawed/works        => credits  ada 0.998000
                                      => example 0.001800  commission 0.000200
      `,
    ))

  it('refunds a response that HTTP or JSON cannot express', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has    1.000000
      ada  calls  flawed/status-nan   => 502 plugin_contract  ada 1.000000
      ada  calls  flawed/status-half  => 502 plugin_contract  ada 1.000000
      ada  calls  flawed/status-42    => 502 plugin_contract  ada 1.000000
      ada  calls  flawed/bigint       => 502 plugin_contract  ada 1.000000
      ada  calls  flawed/cycle        => 502 plugin_contract  ada 1.000000
      ada  calls  flawed/function     => 502 plugin_contract  ada 1.000000
      ada  calls  flawed/header       => 502 plugin_contract  ada 1.000000
      ada  calls  flawed/header-name  => 502 plugin_contract  ada 1.000000  holds 0.000000
      `,
    ))

  it('reports input errors before anything is reserved', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  calls  echo/say {"word":"x"}   => 402 insufficient_credits
      ada  calls  gift/try {"fail":1}     => 422 validation_failed
      ada  has    1.000000
      ada  calls  echo/say {"word":"x"}   => 422 validation_failed  ada 1.000000  holds 0.000000
      ada  calls  echo/shout              => 404 not_found  ada 1.000000
      ada  calls  nowhere/say             => 404 service_not_found  ada 1.000000
      `,
    ))
})
