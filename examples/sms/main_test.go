package main

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/examples/internal/apptest"
)

func send(s *apptest.Server, tenant, to string) func() (*http.Response, string) {
	return func() (*http.Response, string) {
		return s.Do("POST", "/sms/send?to="+url.QueryEscape(to), nil, "Authorization", tenant)
	}
}

func TestSpendIsCappedByTenantAndCountry(t *testing.T) {
	s := apptest.Start(t, service())
	require.Equal(t, map[int]int{200: 20, 429: 10}, s.Statuses(30, send(s, "globex", "+882123")), "20 messages of 250 cents are 50 euros")
	require.Equal(t, map[int]int{200: 714, 429: 6}, s.Statuses(720, send(s, "globex", "+4930123")), "another country, 7 cents each")
	require.Equal(t, map[int]int{200: 20, 429: 1}, s.Statuses(21, send(s, "umbrella", "+882123")), "another tenant")
	require.Equal(t, map[int]int{200: 20, 429: 1}, s.Statuses(21, send(s, "globex", "+999")), "a country without a price costs the most")
	require.Equal(t, map[int]int{429: 2}, s.Statuses(2, send(s, "globex", "+998")), "and all of them are one cap")
}

// The day of the cap is the invoice's.
func TestCapBeginsAfreshAtMidnightInTheZone(t *testing.T) {
	s := apptest.Start(t, service())
	require.Equal(t, map[int]int{200: 20, 429: 1}, s.Statuses(21, send(s, "globex", "+882123")))
	res, _ := send(s, "globex", "+882123")()
	require.Equal(t, "39600", res.Header.Get("Retry-After"), "12:00 UTC is 13:00 in Berlin, 11 hours before midnight")
	s.Clock.Advance(11*time.Hour - time.Second)
	require.Equal(t, map[int]int{429: 1}, s.Statuses(1, send(s, "globex", "+882123")))
	s.Clock.Advance(time.Second)
	require.Equal(t, map[int]int{200: 20, 429: 1}, s.Statuses(21, send(s, "globex", "+882123")))
}

func TestCampaignHasItsOwnCapForItsTime(t *testing.T) {
	s := apptest.Start(t, service())
	require.Equal(t, map[int]int{200: 1300}, s.Statuses(1300, send(s, "acme", "+44123")))
	s.Clock.Advance(7 * 24 * time.Hour)
	require.Equal(t, map[int]int{200: 1250, 429: 10}, s.Statuses(1260, send(s, "acme", "+44123")))
}

func TestNobodySpendsWithoutANameOrANumber(t *testing.T) {
	s := apptest.Start(t, service())
	for _, c := range [][2]string{{"", "+4930123"}, {"globex", "none"}} {
		res, body := send(s, c[0], c[1])()
		require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
		require.Contains(t, body, `"spend.missing"`)
		require.Empty(t, res.Header.Get("Retry-After"), "waiting does not help")
	}
}
