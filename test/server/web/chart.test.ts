import { expect } from 'chai'
import { load } from 'cheerio'
import * as fc from 'fast-check'
import { chart, compare } from '../../../server/web/chart.ts'
import { seriesOf } from '../../../server/web/chart-series.ts'
import { formatDollars, formatDuration } from '../../../server/web/format.ts'
import { priceChart } from '../../../server/web/price-chart.ts'

const DAYS = ['2026-11-01', '2026-11-02', '2026-11-03']
const common = { label: 'Spending', periods: DAYS, empty: 'Nothing spent.' } as const

describe('charts', () => {
  it('stack the bars of a day below the end of the axis, whatever the amounts', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 15n })
    const rows = fc.array(fc.tuple(amount, amount, amount), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(rows, (all) => {
        const series = all.map((values, i) => ({ name: `s${i}`, values }))
        const { text } = chart({ ...common, series, shape: 'bars', format: formatDollars })
        if (all.flat().every((value) => value === 0n)) return text.includes('Nothing spent.')
        const page = load(text)
        const bars = page('svg rect:not(.hit)').toArray()
        return bars.every((bar) => {
          const [y, height] = [page(bar).attr('y'), page(bar).attr('height')].map(Number)
          return y! >= -0.1 && y! + height! <= 100.1
        })
      }),
    )
  })

  it('say every value in a tooltip and in a table, without scripts', () => {
    const series = [
      { name: 'p50', values: [12, null, 20] },
      { name: 'p99', values: [90, null, 1_500] },
    ]
    const { text } = chart({ ...common, series, shape: 'lines', format: formatDuration })
    const page = load(text)
    const titles = page('rect.hit title')
      .toArray()
      .map((title) => page(title).text())
    expect(titles).to.deep.equal([
      '2026-11-01: p50 12 ms, p99 90 ms',
      '2026-11-02: no data',
      '2026-11-03: p50 20 ms, p99 1.5 s',
    ])
    expect(page('svg').attr('aria-label')).to.equal('Spending')
    expect(page('details tbody tr').length, 'days without data are left out').to.equal(2)
    expect(page('details tbody').text()).to.include('1.5 s')
    const lines = page('path.line')
      .toArray()
      .map((path) => page(path).attr('d'))
    expect(lines[0], 'a line ends at a day without data').to.match(/^M[\d., ]+Z?M[\d., ]+Z?$/)
    expect(text).not.to.include('style=')
  })

  it('have ticks at round values, and an end of their own if it is given', () => {
    const ticks = (options: object) => {
      const series = [{ name: 'up', values: [37, 99, 63] }]
      const drawn = { ...common, series, shape: 'bars', format: String, ...options } as const
      const page = load(chart<number>(drawn).text)
      return page('.ticks span')
        .toArray()
        .map((tick) => page(tick).text())
    }
    expect(ticks({})).to.deep.equal(['100', '50', '0'])
    expect(ticks({ max: 200 })).to.deep.equal(['200', '100', '0'])
  })

  it('show no axes without values, but a sentence', () => {
    const series = [{ name: 'spent', values: [0n, null, 0n] }]
    const { text } = chart({ ...common, series, shape: 'bars', format: formatDollars })
    expect(text).to.include('Nothing spent.').and.not.to.include('<svg')
  })

  it('give the largest series colors of their own, and add up the others', () => {
    const amounts = Array.from({ length: 8 }, (_, i) => {
      return { period: DAYS[0]!, series: `s${i}`, amount: BigInt(i + 1) }
    })
    const series = seriesOf(DAYS, amounts)
    expect(series.map(({ name }) => name)).to.deep.equal(['s7', 's6', 's5', 's4', 's3', 'others'])
    expect(series.at(-1)!.values[0]).to.equal(6n)
  })

  it('compare a period with the one before', () => {
    const text = (now: bigint, before: bigint) =>
      load(compare(now, before, formatDollars, '30 days').text)
        .text()
        .replace(/\s+/g, ' ')
        .trim()
    expect(text(3_000_000n, 2_000_000n)).to.equal('$3.00 +50 % from $2.00 in the previous 30 days')
    expect(text(1_000_000n, 2_000_000n)).to.include('−50 %')
    expect(text(1_000_000n, 0n)).to.equal('$1.00 nothing in the previous 30 days')
  })

  it('draw the price of each day until the next change, and none without changes', () => {
    const step = (day: string, amount: bigint) => {
      return { name: 'POST /say', amount, at: new Date(`${day}T10:00:00Z`) }
    }
    expect(priceChart(DAYS, [step('2026-10-01', 5n)])).to.equal(undefined)
    const { text } = priceChart(DAYS, [step('2026-11-02', 2_000n), step('2026-10-01', 1_000n)])!
    const titles = [...text.matchAll(/<title>([^<]*)</g)].map(([, title]) => title)
    expect(titles).to.deep.equal([
      '2026-11-01: POST /say $0.001',
      '2026-11-02: POST /say $0.002',
      '2026-11-03: POST /say $0.002',
    ])
  })
})
