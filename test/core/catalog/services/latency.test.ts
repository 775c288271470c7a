import { expect } from 'chai'
import { readHubFigures } from '../../../../core/catalog/services/hub-figures.ts'
import { listServices } from '../../../../core/catalog/services/published-services.ts'
import { useHub } from '../../../support/suite.ts'

describe('the latency of services', () => {
  const hub = useHub()

  it('is the median of delivered calls on every page, whatever a few slow calls took', async () => {
    const { admin, pool } = hub().database
    await admin.query(`
      INSERT INTO hub.service_day (service, day, calls, up, delivered, failed, latency_ms)
        VALUES ('echo', (now() AT TIME ZONE 'UTC')::date, 100, 100, 90, 10, 590000);
      INSERT INTO hub.outcome_day (service, day, endpoint, outcome, refused, ms, calls)
        VALUES
          ('echo', (now() AT TIME ZONE 'UTC')::date, 1, 'delivered', false, '{10,900}', '{80,10}'),
          ('echo', (now() AT TIME ZONE 'UTC')::date, 1, 'failed', false, '{30000}', '{10}');
      SELECT hub.refresh_service_signals()`)
    const [echo] = (await listServices(pool, { limit: 100, after: undefined })).filter(
      ({ slug }) => slug === 'echo',
    )
    expect(echo).to.include({ medianLatencyMs: 10, averageLatencyMs: 5_900 })
    expect(await readHubFigures(pool)).to.include({ latency: 10, calls: 90 })
    for (const path of ['/', '/services', '/services/echo', '/status']) {
      const page = await (await fetch(`${hub().url}${path}`)).text()
      expect(page, path)
        .to.match(/[Mm]edian latency/)
        .and.not.match(/average|5\.9/i)
    }
  })
})
