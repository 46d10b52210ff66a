// get_weather: now and the next days, from open-meteo.com, which needs no key. An example of a tool
// that uses the network.
import type { Zz } from "zz";

export const defaults = {
  geocoding: "https://geocoding-api.open-meteo.com/v1/search",
  forecast: "https://api.open-meteo.com/v1/forecast",
  units: "metric", // or imperial
  seconds: 10, // to wait for an answer
  minutes: 10, // to remember one
};
export const settings = {
  schema: {
    type: "object",
    properties: {
      seconds: { type: "number", minimum: 0.01, maximum: 3_600 },
      minutes: { type: "number", minimum: 0, maximum: 100_000 },
    },
  },
};

type City = { name: string; latitude: number; longitude: number; population?: number } & Partial<
  Record<"admin1" | "country" | "country_code", string>
>;
type Forecast = {
  current: { time: string; temperature_2m: number; weather_code: number; wind_speed_10m: number };
  current_units: { temperature_2m: string; wind_speed_10m: string };
  daily: { time: string[] } & Record<(typeof DAILY)[number], number[]>;
};
const DAILY = ["weather_code", "temperature_2m_max", "temperature_2m_min"] as const;
const DAYS = 7;

export default (zz: Zz<typeof defaults>) => {
  const { config } = zz;
  const { search, forecast } = openWeather(zz);

  zz.tool({
    name: "get_weather",
    kind: "read",
    description: "The weather in a city: now, and the next days.",
    params: {
      city: "string with its region where it needs one: Paris, Texas",
      days: "integer? 1 to 7; 3",
    },
    needs: () => ({
      net: [...new Set([config.geocoding, config.forecast].map((url) => new URL(url).host))],
    }),
    async run({ city, days = 3 }, { signal }) {
      const foundCity = choose(city, await search(city, signal));
      const { current, current_units, daily } = await forecast(foundCity, signal);
      const [degrees, speed] = [current_units.temperature_2m, current_units.wind_speed_10m];
      const currentText =
        `${current.temperature_2m} ${degrees}, ${sky(current.weather_code)}, ` +
        `wind ${current.wind_speed_10m} ${speed}`;
      const rows = daily.time.slice(0, Math.max(1, days)).map((day, i) => {
        const [code, highest, least] = DAILY.map((name) => daily[name]?.[i] ?? Number.NaN);
        return `${day}: ${least} to ${highest} ${degrees}, ${sky(code!)}`;
      });
      return {
        text: [`${nameOf(foundCity)}, ${current.time}: ${currentText}`, ...rows].join("\n"),
        data: { place: foundCity, current, daily },
      };
    },
  });
};

/** What open-meteo.com knows. */
function openWeather(zz: Zz<typeof defaults>) {
  const { config } = zz;
  const cache = new Map<string, { fetchedAt: number; forecast: Forecast }>();
  return { search, forecast };

  /** Only the name is searched for; what follows the comma tells places apart. */
  async function search(city: string, signal: AbortSignal): Promise<City[]> {
    const [name = ""] = city.split(",");
    if (name.trim().length < 2)
      throw new Error(`Cannot look up '${city}': it is too short. Name a city.`);
    const { results = [] } = await get<{ results?: City[] }>(
      zz,
      config.geocoding,
      { name: name.trim(), count: 20 },
      signal,
    );
    return results;
  }

  async function forecast({ latitude, longitude }: City, signal: AbortSignal): Promise<Forecast> {
    const key = `${latitude} ${longitude}`;
    for (const [key, { fetchedAt }] of cache)
      if (Date.now() - fetchedAt >= config.minutes * 60_000) cache.delete(key);
    const cached = cache.get(key);
    if (cached) return cached.forecast;
    const imperial = config.units === "imperial" && {
      temperature_unit: "fahrenheit",
      wind_speed_unit: "mph",
    };
    const wanted = {
      current: "temperature_2m,weather_code,wind_speed_10m",
      daily: DAILY.join(),
      timezone: "auto",
    };
    const asked = { latitude, longitude, ...wanted, forecast_days: DAYS, ...imperial };
    const forecast = await get<Forecast>(zz, config.forecast, asked, signal);
    if (!forecast.current || !forecast.current_units || !forecast.daily?.time)
      throw new Error(
        "Cannot get the weather: " +
          `${new URL(config.forecast).host} sent no forecast. Try again later.`,
      );
    cache.set(key, { fetchedAt: Date.now(), forecast });
    return forecast;
  }
}

async function get<T>(
  zz: Zz<typeof defaults>,
  base: string,
  query: Record<string, unknown>,
  stopped: AbortSignal,
): Promise<T> {
  const url = new URL(base);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const timeout = zz.io.clock.limit(Math.ceil(zz.config.seconds * 1000));
  try {
    const answer = await zz.fetch(url.href, { signal: AbortSignal.any([stopped, timeout]) });
    return Object((await answer.json()) ?? {});
  } catch (error) {
    if (stopped.aborted) throw error;
    const { status, message } = error as Error & { status?: number };
    const failure = error instanceof SyntaxError ? "it sent no JSON" : message;
    const reason = status ? `it answered ${status}` : failure;
    const cause = timeout.aborted
      ? `nothing came within ${zz.config.seconds} s`
      : reason.replace(/\.$/, "");
    throw new Error(`Cannot get the weather from ${url.host}: ${cause}. Try again later.`);
  }
}

/** The place that the model means. If that is unclear, it throws, and the model has to say. */
function choose(city: string, cities: City[]): City {
  const plain = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "").trim().toLowerCase();
  const [name = "", ...hints] = city.split(",").map(plain);
  const words = (candidate: City) =>
    [candidate.admin1, candidate.country, candidate.country_code].map((word) => plain(word ?? ""));
  const fits = cities.filter((candidate) => hints.every((hint) => words(candidate).includes(hint)));
  const sameName = fits.filter((candidate) => plain(candidate.name) === name);
  const [first, second] = (sameName.length ? sameName : fits).toSorted(
    (a, b) => (b.population ?? 0) - (a.population ?? 0),
  );
  if (!first)
    throw new Error(
      `Cannot find '${city}'. ` +
        `${cities.length ? `There is: ${list(cities)}.` : "Check how it is spelt."}`,
    );
  if (
    second &&
    nameOf(first) !== nameOf(second) &&
    (first.population ?? 0) < 10 * (second.population ?? 0)
  )
    throw new Error(
      `There are several of '${city}': ` +
        `${list(sameName.length ? sameName : fits)}. Name one like that.`,
    );
  return first;
}

const nameOf = ({ name, admin1, country }: City): string =>
  [...new Set([name, admin1, country])].filter(Boolean).join(", ");
const list = (places: City[]): string => [...new Set(places.map(nameOf))].slice(0, 8).join("; ");

/** Codes of the World Meteorological Organization: each word applies up to its code. */
const SKIES: [upTo: number, word: string][] = [
  [0, "clear"], [2, "partly cloudy"], [3, "overcast"], [48, "fog"], [57, "drizzle"], [67, "rain"],
  [77, "snow"], [82, "showers"], [86, "snow showers"], [99, "thunderstorm"],
]; // biome-ignore format: a table
const sky = (code: number): string => SKIES.find(([upTo]) => code <= upTo)?.[1] ?? "unknown";
