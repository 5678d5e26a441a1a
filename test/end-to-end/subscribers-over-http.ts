import { expect, test } from '@jest/globals'
import type { Deployment } from './deployment.ts'

/** Runs the commands on subscribers. */
export function subscribersOverHttp(deployment: () => Deployment): void {
  const tenant = 'subscribed'
  const subscribers = (...args: string[]) => deployment().run('subscribers', ...args, '--tenant', tenant)
  const create = (url: string, events: string) => subscribers('create', '--url', url, '--events', events)

  test('a subscriber is created, updated, paused, resumed, gets a new secret and is deleted', async () => {
    const [created] = await create('http://127.0.0.1:9/hook', 'order.placed')
    const id = String(created?.id)
    expect(created).toMatchObject({ state: 'active', secret: expect.stringMatching(/^whsec_/) })
    expect(await subscribers('update', id, '--events', 'order.*')).toMatchObject([{ events: ['order.*'] }])
    expect(await subscribers('pause', id)).toMatchObject([{ id, state: 'paused' }])
    expect(await subscribers('resume', id)).toMatchObject([{ id, state: 'active' }])
    const [rotated] = await subscribers('rotate-secret', id, '--overlap', '0', '--yes')
    expect(rotated).toMatchObject({ id, secret: expect.stringMatching(/^whsec_/) })
    expect(rotated?.secret).not.toBe(created?.secret)
    expect(await subscribers('list')).toMatchObject([{ id, events: ['order.*'], state: 'active' }])
    await subscribers('delete', id, '--yes')
    expect(await subscribers('list')).toEqual([])
  })

  test('a URL of a private network and an unknown event are refused', async () => {
    await expect(create('https://10.0.0.1/hook', '*')).rejects.toThrow(
      'url: it takes a public https URL without credentials',
    )
    await expect(create('http://127.0.0.1:9/hook', 'order.plcaed')).rejects.toThrow(
      'no event matches order.plcaed. The events are: ',
    )
  })

  test('re-encrypt leaves secrets of the current version as they are', async () => {
    await create('http://127.0.0.1:9/kept', 'order.paid')
    expect(await deployment().run('subscribers', 're-encrypt')).toMatchObject([
      { re_encrypted: 0, unreadable: [] },
    ])
  })

  test('deliveries list shows none of a subscriber without events', async () => {
    const [subscriber] = await subscribers('list')
    const of = ['--tenant', tenant, '--subscriber', String(subscriber?.id)]
    expect(await deployment().run('deliveries', 'list', ...of)).toEqual([])
  })
}
