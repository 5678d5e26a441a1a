import { describe, expect, test } from '@jest/globals'
import { isRaised, raisedAfter } from './alarm-player.ts'
import { failures } from './failures.ts'
import { withProvisioned, withWeeklyBackups } from './stage-settings.ts'
import { propertiesOf, type Resource, resourcesOf, templatesOf } from './synthesis.ts'

const nightly = await templatesOf('prod', { changes: withProvisioned })
const weekly = await templatesOf('prod', { changes: withWeeklyBackups })
const alarms = new Map(
  [weekly, nightly]
    .flatMap(({ watch }) => resourcesOf(watch, 'AWS::CloudWatch::Alarm'))
    .map(([id, { Properties }]) => [id.replace(/Alarm$/, ''), Properties]),
)
const titles = JSON.parse(propertiesOf(nightly.watch, 'Dashboard').DashboardBody).widgets.map(
  ({ properties }: Resource['Properties']) => properties.title,
)

test('a stage without failures raises no alarm', () => {
  for (let minute = 0; minute <= 1440; minute += 60)
    for (const [id, alarm] of alarms) expect([id, isRaised(alarm, [], minute)]).toEqual([id, false])
})

describe('a failure', () => {
  test.each(failures.filter(({ alarm }) => alarm))(
    '$kind: $alarm is raised after $minutes min',
    (failure) => {
      const { alarm = '', minutes = 0, signals } = failure
      expect(raisedAfter(alarms.get(alarm), signals, 2 * minutes)).toBe(minutes)
    },
  )

  test.each(failures.filter(({ alarm }) => !alarm))('$kind: has no alarm, but ‘$look’', (failure) => {
    const { look, reason, signals } = failure
    expect(titles).toContain(look)
    expect(reason).toMatch(/\w/)
    const raised = [...alarms].filter(([, alarm]) => isRaised(alarm, signals, 300))
    expect(raised.map(([id]) => id)).toEqual([])
  })

  test('is known for each alarm', () => {
    const noticing = new Set(failures.flatMap(({ alarm = [] }) => alarm))
    expect([...alarms.keys()].filter((id) => !noticing.has(id))).toEqual([])
  })
})
