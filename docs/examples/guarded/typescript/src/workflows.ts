/** A workflow in TypeScript that books a trip: all of it, or nothing. */

import { ApplicationFailure, CancellationScope, createNexusServiceClient } from '@temporalio/workflow';
import { orchestratorSessions, type Json, type Terms } from './sessions';

type Call = (tool: string, wanted: { [name: string]: Json }) => Promise<any>;

/** Book a flight, and a room for the same days; the answers are the ids of the bookings. */
export async function trip(endpoint: string, city: string, leaving: string, returning: string) {
  const terms = { budget: { amount: '2000', currency: 'EUR' }, requester: 'ana@example.com' };
  return await guarded(endpoint, terms, async (call) => {
    const days = { check_in: leaving, check_out: returning };
    const [flights, rooms] = await Promise.all([
      call('flight_search_offers', { origin: 'Berlin', destination: city, departure_date: leaving }),
      call('hotel_search_rooms', { city, ...days }),
    ]);
    const flight = await call('flight_book_offer', {
      offer_id: flights.offers[0].offer_id,
      traveler_id: 'pii:traveler_id',
    });
    const hotel = await call('hotel_book_room', {
      room_offer_id: rooms.offers[0].room_offer_id,
      traveler_name: 'pii:traveler_name',
      traveler_email: 'pii:traveler_email',
    });
    return { flight: flight.booking_id, hotel: hotel.hotel_booking_id };
  });
}

/** Run a block whose calls stand together: if it fails or is cancelled, all are cancelled. */
async function guarded<T>(endpoint: string, terms: Terms, block: (call: Call) => Promise<T>) {
  const sessions = createNexusServiceClient({ endpoint, service: orchestratorSessions });
  const { session_id } = await sessions.executeOperation('open', terms);
  try {
    const made = await block(async (tool, wanted) => {
      const done = await sessions.executeOperation('call', { session_id, tool, arguments: wanted });
      if (done.outcome === 'succeeded') return done.body;
      throw ApplicationFailure.nonRetryable(`${tool} ${done.outcome}: ${done.reason}`, done.outcome);
    });
    const ended = await sessions.executeOperation('complete', { session_id });
    if (ended.status === 'completed') return made;
    throw ApplicationFailure.nonRetryable(`all was rolled back: ${ended.reason}`, 'unknown');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    await CancellationScope.nonCancellable(() =>
      sessions.executeOperation('rollback', { session_id, reason }),
    );
    throw error;
  }
}
